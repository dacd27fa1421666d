"""Every number of DWARF that has a name, once, under the name that the standard or its vendor gives it.

The numbers of operations are not here, because dialects decide which bytes are which operation
(`dwarfgpu.dialects`), nor those of registers and address spaces, which belong to targets.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

_TABLE = """
DW_UT:  # Unit types (DWARF 5, table 7.2)
    01 compile, 02 type, 03 partial, 04 skeleton, 05 split_compile, 06 split_type
DW_TAG:  # Tags (DWARF 5, table 7.3)
    00 null, 01 array_type, 02 class_type, 03 entry_point, 04 enumeration_type, 05 formal_parameter,
    08 imported_declaration, 0a label, 0b lexical_block, 0d member, 0f pointer_type, 10 reference_type, 11 compile_unit,
    12 string_type, 13 structure_type, 15 subroutine_type, 16 typedef, 17 union_type, 18 unspecified_parameters,
    19 variant, 1a common_block, 1b common_inclusion, 1c inheritance, 1d inlined_subroutine, 1e module,
    1f ptr_to_member_type, 20 set_type, 21 subrange_type, 22 with_stmt, 23 access_declaration, 24 base_type,
    25 catch_block, 26 const_type, 27 constant, 28 enumerator, 29 file_type, 2a friend, 2b namelist, 2c namelist_item,
    2d packed_type, 2e subprogram, 2f template_type_parameter, 30 template_value_parameter, 31 thrown_type,
    32 try_block, 33 variant_part, 34 variable, 35 volatile_type, 36 dwarf_procedure, 37 restrict_type,
    38 interface_type, 39 namespace, 3a imported_module, 3b unspecified_type, 3c partial_unit, 3d imported_unit,
    3f condition, 40 shared_type, 41 type_unit, 42 rvalue_reference_type, 43 template_alias, 44 coarray_type,
    45 generic_subrange, 46 dynamic_type, 47 atomic_type, 48 call_site, 49 call_site_parameter, 4a skeleton_unit,
    4b immutable_type
DW_TAG:  # Tags of vendors
    4081 MIPS_loop, 4101 format_label, 4102 function_template, 4103 class_template, 4104 GNU_BINCL, 4105 GNU_EINCL,
    4106 GNU_template_template_param, 4107 GNU_template_parameter_pack, 4108 GNU_formal_parameter_pack,
    4109 GNU_call_site, 410a GNU_call_site_parameter, 4200 APPLE_property, 4201 SUN_function_template,
    4202 SUN_class_template, 4203 SUN_struct_template, 4204 SUN_union_template, 4205 SUN_indirect_inheritance,
    4206 SUN_codeflags, 4207 SUN_memop_info, 4208 SUN_omp_child_func, 4209 SUN_rtti_descriptor, 420a SUN_dtor_info,
    420b SUN_dtor, 420c SUN_f90_interface, 420d SUN_fortran_vax_structure, 42ff SUN_hi, 4300 LLVM_ptrauth_type,
    5101 ALTIUM_circ_type, 5102 ALTIUM_mwa_circ_type, 5103 ALTIUM_rev_carry_type, 5111 ALTIUM_rom, 6000 LLVM_annotation,
    8004 GHS_namespace, 8005 GHS_using_namespace, 8006 GHS_using_declaration, 8007 GHS_template_templ_param,
    8765 UPC_shared_type, 8766 UPC_strict_type, 8767 UPC_relaxed, a000 PGI_kanji_type, a020 PGI_interface_block,
    b000 BORLAND_property, b001 BORLAND_Delphi_string, b002 BORLAND_Delphi_dynamic_array, b003 BORLAND_Delphi_set,
    b004 BORLAND_Delphi_variant, 4080 lo_user
DW_CHILDREN:  # Whether an entry has children (DWARF 5, table 7.4)
    00 no, 01 yes
DW_AT:  # Attributes (DWARF 5, table 7.5); the language name and version are of the drafts of DWARF 6
    01 sibling, 02 location, 03 name, 09 ordering, 0b byte_size, 0c bit_offset, 0d bit_size, 10 stmt_list, 11 low_pc,
    12 high_pc, 13 language, 15 discr, 16 discr_value, 17 visibility, 18 import, 19 string_length, 1a common_reference,
    1b comp_dir, 1c const_value, 1d containing_type, 1e default_value, 20 inline, 21 is_optional, 22 lower_bound,
    25 producer, 27 prototyped, 2a return_addr, 2c start_scope, 2e bit_stride, 2f upper_bound, 31 abstract_origin,
    32 accessibility, 33 address_class, 34 artificial, 35 base_types, 36 calling_convention, 37 count,
    38 data_member_location, 39 decl_column, 3a decl_file, 3b decl_line, 3c declaration, 3d discr_list, 3e encoding,
    3f external, 40 frame_base, 41 friend, 42 identifier_case, 43 macro_info, 44 namelist_item, 45 priority, 46 segment,
    47 specification, 48 static_link, 49 type, 4a use_location, 4b variable_parameter, 4c virtuality,
    4d vtable_elem_location, 4e allocated, 4f associated, 50 data_location, 51 byte_stride, 52 entry_pc, 53 use_UTF8,
    54 extension, 55 ranges, 56 trampoline, 57 call_column, 58 call_file, 59 call_line, 5a description, 5b binary_scale,
    5c decimal_scale, 5d small, 5e decimal_sign, 5f digit_count, 60 picture_string, 61 mutable, 62 threads_scaled,
    63 explicit, 64 object_pointer, 65 endianity, 66 elemental, 67 pure, 68 recursive, 69 signature, 6a main_subprogram,
    6b data_bit_offset, 6c const_expr, 6d enum_class, 6e linkage_name, 6f string_length_bit_size,
    70 string_length_byte_size, 71 rank, 72 str_offsets_base, 73 addr_base, 74 rnglists_base, 75 dwo_id, 76 dwo_name,
    77 reference, 78 rvalue_reference, 79 macros, 7a call_all_calls, 7b call_all_source_calls, 7c call_all_tail_calls,
    7d call_return_pc, 7e call_value, 7f call_origin, 80 call_parameter, 81 call_pc, 82 call_tail_call, 83 call_target,
    84 call_target_clobbered, 85 call_data_location, 86 call_data_value, 87 noreturn, 88 alignment, 89 export_symbols,
    8a deleted, 8b defaulted, 8c loclists_base, 90 language_name, 91 language_version
DW_AT:  # Attributes of vendors. Where several use a number, the one whose files are still met has it.
    0806 GHS_namespace_alias, 0807 GHS_using_namespace, 0808 GHS_using_declaration, 2001 MIPS_fde, 2002 MIPS_loop_begin,
    2003 MIPS_tail_loop_begin, 2004 MIPS_epilog_begin, 2005 MIPS_loop_unroll_factor, 2006 MIPS_software_pipeline_depth,
    2007 MIPS_linkage_name, 2008 MIPS_stride, 2009 MIPS_abstract_name, 200a MIPS_clone_origin, 200b MIPS_has_inlines,
    200c MIPS_stride_byte, 200d MIPS_stride_elem, 200e MIPS_ptr_dopetype, 200f MIPS_allocatable_dopetype,
    2010 MIPS_assumed_shape_dopetype, 2011 MIPS_assumed_size, 2012 HP_raw_data_ptr, 2013 HP_pass_by_reference,
    2014 HP_opt_level, 2015 HP_prof_version_id, 2016 HP_opt_flags, 2017 HP_cold_region_low_pc,
    2018 HP_cold_region_high_pc, 2019 HP_all_variables_modifiable, 201a HP_linkage_name, 201b HP_prof_flags,
    201f HP_unit_name, 2020 HP_unit_size, 2021 HP_widened_byte_size, 2022 HP_definition_points,
    2023 HP_default_location, 2026 INTEL_other_endian, 2029 HP_is_result_param, 2083 GHS_rsm, 2085 GHS_frsm,
    2086 GHS_frames, 2087 GHS_rso, 2092 GHS_subcpu, 2093 GHS_lbrace_line, 2101 sf_names, 2102 src_info, 2103 mac_info,
    2104 src_coords, 2105 body_begin, 2106 body_end, 2107 GNU_vector, 210f GNU_odr_signature, 2110 GNU_template_name,
    2111 GNU_call_site_value, 2112 GNU_call_site_data_value, 2113 GNU_call_site_target,
    2114 GNU_call_site_target_clobbered, 2115 GNU_tail_call, 2116 GNU_all_tail_call_sites, 2117 GNU_all_call_sites,
    2118 GNU_all_source_call_sites, 2119 GNU_macros, 211a GNU_deleted, 2130 GNU_dwo_name, 2131 GNU_dwo_id,
    2132 GNU_ranges_base, 2133 GNU_addr_base, 2134 GNU_pubnames, 2135 GNU_pubtypes, 2136 GNU_discriminator,
    2137 GNU_locviews, 2138 GNU_entry_view, 2201 SUN_template, 2202 SUN_alignment, 2203 SUN_vtable,
    2204 SUN_count_guarantee, 2205 SUN_command_line, 2206 SUN_vbase, 2207 SUN_compile_options, 2208 SUN_language,
    2209 SUN_browser_file, 2210 SUN_vtable_abi, 2211 SUN_func_offsets, 2212 SUN_cf_kind, 2213 SUN_vtable_index,
    2214 SUN_omp_tpriv_addr, 2215 SUN_omp_child_func, 2216 SUN_func_offset, 2217 SUN_memop_type_ref,
    2218 SUN_profile_id, 2219 SUN_memop_signature, 2220 SUN_obj_dir, 2221 SUN_obj_file, 2222 SUN_original_name,
    2223 SUN_hwcprof_signature, 2224 SUN_amd64_parmdump, 2225 SUN_part_link_name, 2226 SUN_link_name,
    2227 SUN_pass_with_const, 2228 SUN_return_with_const, 2229 SUN_import_by_name, 222a SUN_90_pointer,
    222b SUN_pass_by_ref, 222c SUN_f90_allocatable, 222d SUN_f90_assumed_shape_array, 222e SUN_c_vla,
    2230 SUN_return_value_ptr, 2231 SUN_dtor_start, 2232 SUN_dtor_length, 2233 SUN_dtor_state_initial,
    2234 SUN_dtor_state_final, 2235 SUN_dtor_state_deltas, 2236 SUN_import_by_lname, 2237 SUN_f90_use_only,
    2238 SUN_namelist_spec, 2239 SUN_is_omp_child_func, 223a SUN_fortran_main_alias, 223b SUN_fortran_based,
    2300 ALTIUM_loclist, 2301 use_GNAT_descriptive_type, 2302 GNAT_descriptive_type, 2303 GNU_numerator,
    2304 GNU_denominator, 2305 GNU_bias, 2400 INTEL_simd_width, 2900 GO_kind, 2901 GO_key, 2902 GO_elem,
    2903 GO_embedded_field, 2904 GO_runtime_type, 3210 UPC_threads_scaled, 393e IBM_wsa_addr, 393f IBM_home_location,
    3940 IBM_alt_srcview, 3a00 PGI_lbase, 3a01 PGI_soffset, 3a02 PGI_lstride, 3b11 BORLAND_property_read,
    3b12 BORLAND_property_write, 3b13 BORLAND_property_implements, 3b14 BORLAND_property_index,
    3b15 BORLAND_property_default, 3b20 BORLAND_Delphi_unit, 3b21 BORLAND_Delphi_class, 3b22 BORLAND_Delphi_record,
    3b23 BORLAND_Delphi_metaclass, 3b24 BORLAND_Delphi_constructor, 3b25 BORLAND_Delphi_destructor,
    3b26 BORLAND_Delphi_anonymous_method, 3b27 BORLAND_Delphi_interface, 3b28 BORLAND_Delphi_ABI,
    3b29 BORLAND_Delphi_return, 3b30 BORLAND_Delphi_frameptr, 3b31 BORLAND_closure, 3fe1 APPLE_optimized,
    3fe2 APPLE_flags, 3fe3 APPLE_isa, 3fe4 APPLE_block, 3fe5 APPLE_major_runtime_vers, 3fe6 APPLE_runtime_class,
    3fe7 APPLE_omit_frame_ptr, 3fe8 APPLE_property_name, 3fe9 APPLE_property_getter, 3fea APPLE_property_setter,
    3feb APPLE_property_attribute, 3fec APPLE_objc_complete_type, 3fed APPLE_property, 3fee APPLE_objc_direct,
    3fef APPLE_sdk, 3ff0 APPLE_origin, 3ff1 APPLE_enum_kind
DW_AT:  # Attributes of LLVM (its Dwarf.def). Those from 0x3E08 on were numbered anew in August 2025.
    3e00 LLVM_include_path, 3e01 LLVM_config_macros, 3e02 LLVM_sysroot, 3e03 LLVM_tag_offset, 3e04 LLVM_ptrauth_key,
    3e05 LLVM_ptrauth_address_discriminated, 3e06 LLVM_ptrauth_extra_discriminator, 3e07 LLVM_apinotes,
    3e08 LLVM_ptrauth_isa_pointer, 3e09 LLVM_ptrauth_authenticates_null_values, 3e0a LLVM_ptrauth_authentication_mode,
    3e0b LLVM_num_extra_inhabitants, 3e0c LLVM_stmt_sequence, 3e0d LLVM_coro_suspend_idx, 3e0e LLVM_alloc_type,
    3e0f LLVM_memory_space, 3e10 LLVM_address_space, 3e11 LLVM_lanes, 3e12 LLVM_lane_pc, 3e13 LLVM_vector_size,
    3e14 LLVM_virtual_call_origin, 3e15 LLVM_language_dialect
DW_FORM:  # Forms (DWARF 5, table 7.6)
    01 addr, 03 block2, 04 block4, 05 data2, 06 data4, 07 data8, 08 string, 09 block, 0a block1, 0b data1, 0c flag,
    0d sdata, 0e strp, 0f udata, 10 ref_addr, 11 ref1, 12 ref2, 13 ref4, 14 ref8, 15 ref_udata, 16 indirect,
    17 sec_offset, 18 exprloc, 19 flag_present, 1a strx, 1b addrx, 1c ref_sup4, 1d strp_sup, 1e data16, 1f line_strp,
    20 ref_sig8, 21 implicit_const, 22 loclistx, 23 rnglistx, 24 ref_sup8, 25 strx1, 26 strx2, 27 strx3, 28 strx4,
    29 addrx1, 2a addrx2, 2b addrx3, 2c addrx4
DW_FORM:  # Forms of GNU and LLVM
    1f01 GNU_addr_index, 1f02 GNU_str_index, 1f20 GNU_ref_alt, 1f21 GNU_strp_alt, 2001 LLVM_addrx_offset
DW_ATE:  # Encodings of base types (DWARF 5, table 7.11), and of HP
    01 address, 02 boolean, 03 complex_float, 04 float, 05 signed, 06 signed_char, 07 unsigned, 08 unsigned_char,
    09 imaginary_float, 0a packed_decimal, 0b numeric_string, 0c edited, 0d signed_fixed, 0e unsigned_fixed,
    0f decimal_float, 10 UTF, 11 UCS, 12 ASCII, 80 lo_user, 81 HP_complex_float, 82 HP_float128, 83 HP_complex_float128,
    84 HP_floathpintel, 85 HP_imaginary_float90, 86 HP_imaginary_float128
DW_DS:  # Decimal signs (DWARF 5, table 7.12)
    01 unsigned, 02 leading_overpunch, 03 trailing_overpunch, 04 leading_separate, 05 trailing_separate
DW_END:  # Endianities (DWARF 5, table 7.13)
    00 default, 01 big, 02 little
DW_ACCESS:  # Accessibilities (DWARF 5, table 7.14)
    01 public, 02 protected, 03 private
DW_VIS:  # Visibilities (DWARF 5, table 7.15)
    01 local, 02 exported, 03 qualified
DW_VIRTUALITY:  # Virtualities (DWARF 5, table 7.16)
    00 none, 01 virtual, 02 pure_virtual
DW_LANG:  # Languages (DWARF 5, table 7.17), and what was assigned since (A.7.12)
    01 C89, 02 C, 03 Ada83, 04 C_plus_plus, 05 Cobol74, 06 Cobol85, 07 Fortran77, 08 Fortran90, 09 Pascal83, 0a Modula2,
    0b Java, 0c C99, 0d Ada95, 0e Fortran95, 0f PLI, 10 ObjC, 11 ObjC_plus_plus, 12 UPC, 13 D, 14 Python, 15 OpenCL,
    16 Go, 17 Modula3, 18 Haskell, 19 C_plus_plus_03, 1a C_plus_plus_11, 1b OCaml, 1c Rust, 1d C11, 1e Swift, 1f Julia,
    20 Dylan, 21 C_plus_plus_14, 22 Fortran03, 23 Fortran08, 24 RenderScript, 25 BLISS, 26 Kotlin, 27 Zig, 28 Crystal,
    2a C_plus_plus_17, 2b C_plus_plus_20, 2c C17, 2d Fortran18, 2e Ada2005, 2f Ada2012, 30 HIP, 31 Assembly, 32 C_sharp,
    33 Mojo, 34 GLSL, 35 GLSL_ES, 36 HLSL, 37 OpenCL_CPP, 38 CPP_for_OpenCL, 39 SYCL, 3d Metal, 40 Ruby, 41 Move,
    42 Hylo, 8001 Mips_Assembler, 8100 LLVM_HIP, 8e57 GOOGLE_RenderScript, b000 BORLAND_Delphi, 8000 lo_user
DW_LNAME:  # Names of languages (the drafts of DWARF 6)
    01 Ada, 02 BLISS, 03 C, 04 C_plus_plus, 05 Cobol, 06 Crystal, 07 D, 08 Dylan, 09 Fortran, 0a Go, 0b Haskell,
    0c Java, 0d Julia, 0e Kotlin, 0f Modula2, 10 Modula3, 11 ObjC, 12 ObjC_plus_plus, 13 OCaml, 14 OpenCL_C, 15 Pascal,
    16 PLI, 17 Python, 18 RenderScript, 19 Rust, 1a Swift, 1b UPC, 1c Zig, 1d Assembly, 1e C_sharp, 1f Mojo, 20 GLSL,
    21 GLSL_ES, 22 HLSL, 23 OpenCL_CPP, 24 CPP_for_OpenCL, 25 SYCL, 26 Ruby, 27 Move, 28 Hylo, 29 HIP, 2c Metal
DW_ID:  # Cases of identifiers (DWARF 5, table 7.18)
    00 case_sensitive, 01 up_case, 02 down_case, 03 case_insensitive
DW_CC:  # Calling conventions (DWARF 5, table 7.19), and of vendors
    01 normal, 02 program, 03 nocall, 04 pass_by_reference, 05 pass_by_value, 40 GNU_renesas_sh,
    41 GNU_borland_fastcall_i386, b0 BORLAND_safecall, b1 BORLAND_stdcall, b2 BORLAND_pascal, b3 BORLAND_msfastcall,
    b4 BORLAND_msreturn, b5 BORLAND_thiscall, b6 BORLAND_fastcall, c0 LLVM_vectorcall, c1 LLVM_Win64,
    c2 LLVM_X86_64SysV, c3 LLVM_AAPCS, c4 LLVM_AAPCS_VFP, c5 LLVM_IntelOclBicc, c6 LLVM_SpirFunction,
    c7 LLVM_DeviceKernel, c8 LLVM_Swift, c9 LLVM_PreserveMost, ca LLVM_PreserveAll, cb LLVM_X86RegCall, cc LLVM_M68kRTD,
    cd LLVM_PreserveNone, ce LLVM_RISCVVectorCall, cf LLVM_SwiftTail, d0 LLVM_RISCVVLSCall, ff GDB_IBM_OpenCL,
    40 lo_user
DW_INL:  # Inlining (DWARF 5, table 7.20)
    00 not_inlined, 01 inlined, 02 declared_not_inlined, 03 declared_inlined
DW_ORD:  # Orders of arrays (DWARF 5, table 7.21)
    00 row_major, 01 col_major
DW_DSC:  # Discriminants (DWARF 5, table 7.22)
    00 label, 01 range
DW_IDX:  # Attributes of name index entries (DWARF 5, table 7.23), and of GNU
    01 compile_unit, 02 type_unit, 03 die_offset, 04 parent, 05 type_hash, 2000 GNU_internal, 2001 GNU_external
DW_DEFAULTED:  # Defaulted members (DWARF 5, table 7.24)
    00 no, 01 in_class, 02 out_of_class
DW_MSPACE:  # Memory spaces (A.7.15)
    00 LLVM_none, 01 LLVM_global, 02 LLVM_constant, 03 LLVM_group, 04 LLVM_private, 8000 LLVM_lo_user, ffff LLVM_hi_user
DW_LNS:  # Standard opcodes of line tables (DWARF 5, table 7.25)
    01 copy, 02 advance_pc, 03 advance_line, 04 set_file, 05 set_column, 06 negate_stmt, 07 set_basic_block,
    08 const_add_pc, 09 fixed_advance_pc, 0a set_prologue_end, 0b set_epilogue_begin, 0c set_isa
DW_LNE:  # Extended opcodes of line tables (DWARF 5, table 7.26); the third is of DWARF 4
    01 end_sequence, 02 set_address, 03 define_file, 04 set_discriminator
DW_LNCT:  # What a column of a file table is (DWARF 5, table 7.27), and of LLVM (A.6.2.4.1)
    01 path, 02 directory_index, 03 timestamp, 04 size, 05 MD5, 2000 lo_user, 2001 LLVM_source, 2002 LLVM_is_MD5
DW_CFA:  # Call frame instructions (DWARF 5, table 7.29); the first three hold an operand in their low six bits
    40 advance_loc, 80 offset, c0 restore, 00 nop, 01 set_loc, 02 advance_loc1, 03 advance_loc2, 04 advance_loc4,
    05 offset_extended, 06 restore_extended, 07 undefined, 08 same_value, 09 register, 0a remember_state,
    0b restore_state, 0c def_cfa, 0d def_cfa_register, 0e def_cfa_offset, 0f def_cfa_expression, 10 expression,
    11 offset_extended_sf, 12 def_cfa_sf, 13 def_cfa_offset_sf, 14 val_offset, 15 val_offset_sf, 16 val_expression
DW_CFA:  # Call frame instructions of vendors; those of LLVM: A.7.24
    1d MIPS_advance_loc8, 2b AARCH64_set_ra_state, 2c AARCH64_negate_ra_state_with_pc, 2d GNU_window_save,
    2d AARCH64_negate_ra_state, 2e GNU_args_size, 2f GNU_negative_offset_extended, 30 LLVM_def_aspace_cfa,
    31 LLVM_def_aspace_cfa_sf
DW_RLE:  # Entries of range lists (DWARF 5, table 7.30)
    00 end_of_list, 01 base_addressx, 02 startx_endx, 03 startx_length, 04 offset_pair, 05 base_address, 06 start_end,
    07 start_length
DW_LLE:  # Entries of location lists (DWARF 5, table 7.10), and of GNU
    00 end_of_list, 01 base_addressx, 02 startx_endx, 03 startx_length, 04 offset_pair, 05 default_location,
    06 base_address, 07 start_end, 08 start_length, 09 GNU_view_pair
DW_LLE:  # Entries of location lists in the split files of GNU for DWARF 4
    00 GNU_end_of_list_entry, 01 GNU_base_address_selection_entry, 02 GNU_start_end_entry, 03 GNU_start_length_entry,
    04 GNU_offset_pair_entry
DW_SECT:  # Sections of packages (DWARF 5, table 7.1)
    01 INFO, 03 ABBREV, 04 LINE, 05 LOCLISTS, 06 STR_OFFSETS, 07 MACRO, 08 RNGLISTS
DW_SECT:  # Sections of the packages of GNU for DWARF 4
    01 GNU_INFO, 02 GNU_TYPES, 03 GNU_ABBREV, 04 GNU_LINE, 05 GNU_LOC, 06 GNU_STR_OFFSETS, 07 GNU_MACINFO, 08 GNU_MACRO
DW_EH_PE:  # Encodings of pointers in .eh_frame (LSB 5.0, 10.5.1): a format, what it counts from, whether it is indirect
    00 absptr, 01 uleb128, 02 udata2, 03 udata4, 04 udata8, 08 signed, 09 sleb128, 0a sdata2, 0b sdata4, 0c sdata8,
    10 pcrel, 20 textrel, 30 datarel, 40 funcrel, 50 aligned, 80 indirect, ff omit
"""
"""Kinds of names, and in hexadecimal the numbers of each: ``DW_UT_compile`` is 1. `names` keeps this order."""


def _numbers_by_name() -> dict[str, int]:
    found: dict[str, int] = {}
    prefix = ""
    for line in _TABLE.splitlines():
        if line.startswith("DW_"):
            prefix = f"{line.partition(':')[0]}_"
            continue
        words = line.replace(",", "").split()
        for digits, name in zip(words[::2], words[1::2], strict=True):
            found[prefix + name] = int(digits, 16)
    return found


globals().update(_numbers_by_name())

if TYPE_CHECKING:

    def __getattr__(name: str) -> int:
        """Return the number with a name, which the module has by the table; a test looks for names it lacks."""


LLVM_OLD_ATTRIBUTES = {
    "DW_AT_LLVM_active_lane": 0x3E08,
    "DW_AT_LLVM_augmentation": 0x3E09,
    "DW_AT_LLVM_lanes": 0x3E0A,
    "DW_AT_LLVM_iterations": 0x3E0A,
    "DW_AT_LLVM_lane_pc": 0x3E0B,
    "DW_AT_LLVM_vector_size": 0x3E0C,
}
"""The numbers that attributes of LLVM had before (A.7.5.4). The document gives one number to two of them."""


@cache
def names(kind: str) -> dict[int, str]:
    """Return the names of a kind, such as ``DW_TAG``, by number. Of two names for a number the first counts."""
    result: dict[int, str] = {}
    for name, number in globals().items():
        if name.startswith(f"{kind}_") and not name.endswith(("_lo_user", "_hi_user")):
            result.setdefault(number, name)
    return result


def numbers(kind: str, words: str) -> frozenset[int]:
    """Return the numbers of a kind with these names: ``numbers("DW_TAG", "namespace module")``."""
    return frozenset(globals()[f"{kind}_{word}"] for word in words.split())


def name_of(kind: str, number: int) -> str:
    """Return the name of a number of a kind, and for an unknown number a name that shows it."""
    return names(kind).get(number) or f"{kind}_unknown_{number:#x}"


def number_of(name: str) -> int | None:
    """Return the number of a full name, such as ``DW_TAG_subprogram``; None for an unknown name."""
    return globals().get(name) if name.startswith("DW_") else None
