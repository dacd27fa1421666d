"""Every number of DWARF that has a name, once, under the name that the standard or its vendor gives it.

The numbers of operations are not here, because dialects decide which bytes are which operation
(`dwarfgpu.dialects`), nor those of registers and address spaces, which belong to targets.
"""

from __future__ import annotations

from functools import cache

# Unit types (DWARF 5, table 7.2)
DW_UT_compile = 0x01
DW_UT_type = 0x02
DW_UT_partial = 0x03
DW_UT_skeleton = 0x04
DW_UT_split_compile = 0x05
DW_UT_split_type = 0x06

# Tags (DWARF 5, table 7.3)
DW_TAG_null = 0x00
DW_TAG_array_type = 0x01
DW_TAG_class_type = 0x02
DW_TAG_entry_point = 0x03
DW_TAG_enumeration_type = 0x04
DW_TAG_formal_parameter = 0x05
DW_TAG_imported_declaration = 0x08
DW_TAG_label = 0x0A
DW_TAG_lexical_block = 0x0B
DW_TAG_member = 0x0D
DW_TAG_pointer_type = 0x0F
DW_TAG_reference_type = 0x10
DW_TAG_compile_unit = 0x11
DW_TAG_string_type = 0x12
DW_TAG_structure_type = 0x13
DW_TAG_subroutine_type = 0x15
DW_TAG_typedef = 0x16
DW_TAG_union_type = 0x17
DW_TAG_unspecified_parameters = 0x18
DW_TAG_variant = 0x19
DW_TAG_common_block = 0x1A
DW_TAG_common_inclusion = 0x1B
DW_TAG_inheritance = 0x1C
DW_TAG_inlined_subroutine = 0x1D
DW_TAG_module = 0x1E
DW_TAG_ptr_to_member_type = 0x1F
DW_TAG_set_type = 0x20
DW_TAG_subrange_type = 0x21
DW_TAG_with_stmt = 0x22
DW_TAG_access_declaration = 0x23
DW_TAG_base_type = 0x24
DW_TAG_catch_block = 0x25
DW_TAG_const_type = 0x26
DW_TAG_constant = 0x27
DW_TAG_enumerator = 0x28
DW_TAG_file_type = 0x29
DW_TAG_friend = 0x2A
DW_TAG_namelist = 0x2B
DW_TAG_namelist_item = 0x2C
DW_TAG_packed_type = 0x2D
DW_TAG_subprogram = 0x2E
DW_TAG_template_type_parameter = 0x2F
DW_TAG_template_value_parameter = 0x30
DW_TAG_thrown_type = 0x31
DW_TAG_try_block = 0x32
DW_TAG_variant_part = 0x33
DW_TAG_variable = 0x34
DW_TAG_volatile_type = 0x35
DW_TAG_dwarf_procedure = 0x36
DW_TAG_restrict_type = 0x37
DW_TAG_interface_type = 0x38
DW_TAG_namespace = 0x39
DW_TAG_imported_module = 0x3A
DW_TAG_unspecified_type = 0x3B
DW_TAG_partial_unit = 0x3C
DW_TAG_imported_unit = 0x3D
DW_TAG_condition = 0x3F
DW_TAG_shared_type = 0x40
DW_TAG_type_unit = 0x41
DW_TAG_rvalue_reference_type = 0x42
DW_TAG_template_alias = 0x43
DW_TAG_coarray_type = 0x44
DW_TAG_generic_subrange = 0x45
DW_TAG_dynamic_type = 0x46
DW_TAG_atomic_type = 0x47
DW_TAG_call_site = 0x48
DW_TAG_call_site_parameter = 0x49
DW_TAG_skeleton_unit = 0x4A
DW_TAG_immutable_type = 0x4B

# Tags of vendors
DW_TAG_MIPS_loop = 0x4081
DW_TAG_format_label = 0x4101
DW_TAG_function_template = 0x4102
DW_TAG_class_template = 0x4103
DW_TAG_GNU_BINCL = 0x4104
DW_TAG_GNU_EINCL = 0x4105
DW_TAG_GNU_template_template_param = 0x4106
DW_TAG_GNU_template_parameter_pack = 0x4107
DW_TAG_GNU_formal_parameter_pack = 0x4108
DW_TAG_GNU_call_site = 0x4109
DW_TAG_GNU_call_site_parameter = 0x410A
DW_TAG_APPLE_property = 0x4200
DW_TAG_SUN_function_template = 0x4201
DW_TAG_SUN_class_template = 0x4202
DW_TAG_SUN_struct_template = 0x4203
DW_TAG_SUN_union_template = 0x4204
DW_TAG_SUN_indirect_inheritance = 0x4205
DW_TAG_SUN_codeflags = 0x4206
DW_TAG_SUN_memop_info = 0x4207
DW_TAG_SUN_omp_child_func = 0x4208
DW_TAG_SUN_rtti_descriptor = 0x4209
DW_TAG_SUN_dtor_info = 0x420A
DW_TAG_SUN_dtor = 0x420B
DW_TAG_SUN_f90_interface = 0x420C
DW_TAG_SUN_fortran_vax_structure = 0x420D
DW_TAG_SUN_hi = 0x42FF
DW_TAG_LLVM_ptrauth_type = 0x4300
DW_TAG_ALTIUM_circ_type = 0x5101
DW_TAG_ALTIUM_mwa_circ_type = 0x5102
DW_TAG_ALTIUM_rev_carry_type = 0x5103
DW_TAG_ALTIUM_rom = 0x5111
DW_TAG_LLVM_annotation = 0x6000
DW_TAG_GHS_namespace = 0x8004
DW_TAG_GHS_using_namespace = 0x8005
DW_TAG_GHS_using_declaration = 0x8006
DW_TAG_GHS_template_templ_param = 0x8007
DW_TAG_UPC_shared_type = 0x8765
DW_TAG_UPC_strict_type = 0x8766
DW_TAG_UPC_relaxed = 0x8767
DW_TAG_PGI_kanji_type = 0xA000
DW_TAG_PGI_interface_block = 0xA020
DW_TAG_BORLAND_property = 0xB000
DW_TAG_BORLAND_Delphi_string = 0xB001
DW_TAG_BORLAND_Delphi_dynamic_array = 0xB002
DW_TAG_BORLAND_Delphi_set = 0xB003
DW_TAG_BORLAND_Delphi_variant = 0xB004

# Whether an entry has children (DWARF 5, table 7.4)
DW_CHILDREN_no = 0x00
DW_CHILDREN_yes = 0x01

# Attributes (DWARF 5, table 7.5); the language name and version are of the drafts of DWARF 6
DW_AT_sibling = 0x01
DW_AT_location = 0x02
DW_AT_name = 0x03
DW_AT_ordering = 0x09
DW_AT_byte_size = 0x0B
DW_AT_bit_offset = 0x0C
DW_AT_bit_size = 0x0D
DW_AT_stmt_list = 0x10
DW_AT_low_pc = 0x11
DW_AT_high_pc = 0x12
DW_AT_language = 0x13
DW_AT_discr = 0x15
DW_AT_discr_value = 0x16
DW_AT_visibility = 0x17
DW_AT_import = 0x18
DW_AT_string_length = 0x19
DW_AT_common_reference = 0x1A
DW_AT_comp_dir = 0x1B
DW_AT_const_value = 0x1C
DW_AT_containing_type = 0x1D
DW_AT_default_value = 0x1E
DW_AT_inline = 0x20
DW_AT_is_optional = 0x21
DW_AT_lower_bound = 0x22
DW_AT_producer = 0x25
DW_AT_prototyped = 0x27
DW_AT_return_addr = 0x2A
DW_AT_start_scope = 0x2C
DW_AT_bit_stride = 0x2E
DW_AT_upper_bound = 0x2F
DW_AT_abstract_origin = 0x31
DW_AT_accessibility = 0x32
DW_AT_address_class = 0x33
DW_AT_artificial = 0x34
DW_AT_base_types = 0x35
DW_AT_calling_convention = 0x36
DW_AT_count = 0x37
DW_AT_data_member_location = 0x38
DW_AT_decl_column = 0x39
DW_AT_decl_file = 0x3A
DW_AT_decl_line = 0x3B
DW_AT_declaration = 0x3C
DW_AT_discr_list = 0x3D
DW_AT_encoding = 0x3E
DW_AT_external = 0x3F
DW_AT_frame_base = 0x40
DW_AT_friend = 0x41
DW_AT_identifier_case = 0x42
DW_AT_macro_info = 0x43
DW_AT_namelist_item = 0x44
DW_AT_priority = 0x45
DW_AT_segment = 0x46
DW_AT_specification = 0x47
DW_AT_static_link = 0x48
DW_AT_type = 0x49
DW_AT_use_location = 0x4A
DW_AT_variable_parameter = 0x4B
DW_AT_virtuality = 0x4C
DW_AT_vtable_elem_location = 0x4D
DW_AT_allocated = 0x4E
DW_AT_associated = 0x4F
DW_AT_data_location = 0x50
DW_AT_byte_stride = 0x51
DW_AT_entry_pc = 0x52
DW_AT_use_UTF8 = 0x53
DW_AT_extension = 0x54
DW_AT_ranges = 0x55
DW_AT_trampoline = 0x56
DW_AT_call_column = 0x57
DW_AT_call_file = 0x58
DW_AT_call_line = 0x59
DW_AT_description = 0x5A
DW_AT_binary_scale = 0x5B
DW_AT_decimal_scale = 0x5C
DW_AT_small = 0x5D
DW_AT_decimal_sign = 0x5E
DW_AT_digit_count = 0x5F
DW_AT_picture_string = 0x60
DW_AT_mutable = 0x61
DW_AT_threads_scaled = 0x62
DW_AT_explicit = 0x63
DW_AT_object_pointer = 0x64
DW_AT_endianity = 0x65
DW_AT_elemental = 0x66
DW_AT_pure = 0x67
DW_AT_recursive = 0x68
DW_AT_signature = 0x69
DW_AT_main_subprogram = 0x6A
DW_AT_data_bit_offset = 0x6B
DW_AT_const_expr = 0x6C
DW_AT_enum_class = 0x6D
DW_AT_linkage_name = 0x6E
DW_AT_string_length_bit_size = 0x6F
DW_AT_string_length_byte_size = 0x70
DW_AT_rank = 0x71
DW_AT_str_offsets_base = 0x72
DW_AT_addr_base = 0x73
DW_AT_rnglists_base = 0x74
DW_AT_dwo_id = 0x75
DW_AT_dwo_name = 0x76
DW_AT_reference = 0x77
DW_AT_rvalue_reference = 0x78
DW_AT_macros = 0x79
DW_AT_call_all_calls = 0x7A
DW_AT_call_all_source_calls = 0x7B
DW_AT_call_all_tail_calls = 0x7C
DW_AT_call_return_pc = 0x7D
DW_AT_call_value = 0x7E
DW_AT_call_origin = 0x7F
DW_AT_call_parameter = 0x80
DW_AT_call_pc = 0x81
DW_AT_call_tail_call = 0x82
DW_AT_call_target = 0x83
DW_AT_call_target_clobbered = 0x84
DW_AT_call_data_location = 0x85
DW_AT_call_data_value = 0x86
DW_AT_noreturn = 0x87
DW_AT_alignment = 0x88
DW_AT_export_symbols = 0x89
DW_AT_deleted = 0x8A
DW_AT_defaulted = 0x8B
DW_AT_loclists_base = 0x8C
DW_AT_language_name = 0x90
DW_AT_language_version = 0x91

# Attributes of vendors. Where several use a number, the one whose files are still met has it.
DW_AT_GHS_namespace_alias = 0x0806
DW_AT_GHS_using_namespace = 0x0807
DW_AT_GHS_using_declaration = 0x0808
DW_AT_MIPS_fde = 0x2001
DW_AT_MIPS_loop_begin = 0x2002
DW_AT_MIPS_tail_loop_begin = 0x2003
DW_AT_MIPS_epilog_begin = 0x2004
DW_AT_MIPS_loop_unroll_factor = 0x2005
DW_AT_MIPS_software_pipeline_depth = 0x2006
DW_AT_MIPS_linkage_name = 0x2007
DW_AT_MIPS_stride = 0x2008
DW_AT_MIPS_abstract_name = 0x2009
DW_AT_MIPS_clone_origin = 0x200A
DW_AT_MIPS_has_inlines = 0x200B
DW_AT_MIPS_stride_byte = 0x200C
DW_AT_MIPS_stride_elem = 0x200D
DW_AT_MIPS_ptr_dopetype = 0x200E
DW_AT_MIPS_allocatable_dopetype = 0x200F
DW_AT_MIPS_assumed_shape_dopetype = 0x2010
DW_AT_MIPS_assumed_size = 0x2011
DW_AT_HP_raw_data_ptr = 0x2012
DW_AT_HP_pass_by_reference = 0x2013
DW_AT_HP_opt_level = 0x2014
DW_AT_HP_prof_version_id = 0x2015
DW_AT_HP_opt_flags = 0x2016
DW_AT_HP_cold_region_low_pc = 0x2017
DW_AT_HP_cold_region_high_pc = 0x2018
DW_AT_HP_all_variables_modifiable = 0x2019
DW_AT_HP_linkage_name = 0x201A
DW_AT_HP_prof_flags = 0x201B
DW_AT_HP_unit_name = 0x201F
DW_AT_HP_unit_size = 0x2020
DW_AT_HP_widened_byte_size = 0x2021
DW_AT_HP_definition_points = 0x2022
DW_AT_HP_default_location = 0x2023
DW_AT_INTEL_other_endian = 0x2026
DW_AT_HP_is_result_param = 0x2029
DW_AT_GHS_rsm = 0x2083
DW_AT_GHS_frsm = 0x2085
DW_AT_GHS_frames = 0x2086
DW_AT_GHS_rso = 0x2087
DW_AT_GHS_subcpu = 0x2092
DW_AT_GHS_lbrace_line = 0x2093
DW_AT_sf_names = 0x2101
DW_AT_src_info = 0x2102
DW_AT_mac_info = 0x2103
DW_AT_src_coords = 0x2104
DW_AT_body_begin = 0x2105
DW_AT_body_end = 0x2106
DW_AT_GNU_vector = 0x2107
DW_AT_GNU_odr_signature = 0x210F
DW_AT_GNU_template_name = 0x2110
DW_AT_GNU_call_site_value = 0x2111
DW_AT_GNU_call_site_data_value = 0x2112
DW_AT_GNU_call_site_target = 0x2113
DW_AT_GNU_call_site_target_clobbered = 0x2114
DW_AT_GNU_tail_call = 0x2115
DW_AT_GNU_all_tail_call_sites = 0x2116
DW_AT_GNU_all_call_sites = 0x2117
DW_AT_GNU_all_source_call_sites = 0x2118
DW_AT_GNU_macros = 0x2119
DW_AT_GNU_deleted = 0x211A
DW_AT_GNU_dwo_name = 0x2130
DW_AT_GNU_dwo_id = 0x2131
DW_AT_GNU_ranges_base = 0x2132
DW_AT_GNU_addr_base = 0x2133
DW_AT_GNU_pubnames = 0x2134
DW_AT_GNU_pubtypes = 0x2135
DW_AT_GNU_discriminator = 0x2136
DW_AT_GNU_locviews = 0x2137
DW_AT_GNU_entry_view = 0x2138
DW_AT_SUN_template = 0x2201
DW_AT_SUN_alignment = 0x2202
DW_AT_SUN_vtable = 0x2203
DW_AT_SUN_count_guarantee = 0x2204
DW_AT_SUN_command_line = 0x2205
DW_AT_SUN_vbase = 0x2206
DW_AT_SUN_compile_options = 0x2207
DW_AT_SUN_language = 0x2208
DW_AT_SUN_browser_file = 0x2209
DW_AT_SUN_vtable_abi = 0x2210
DW_AT_SUN_func_offsets = 0x2211
DW_AT_SUN_cf_kind = 0x2212
DW_AT_SUN_vtable_index = 0x2213
DW_AT_SUN_omp_tpriv_addr = 0x2214
DW_AT_SUN_omp_child_func = 0x2215
DW_AT_SUN_func_offset = 0x2216
DW_AT_SUN_memop_type_ref = 0x2217
DW_AT_SUN_profile_id = 0x2218
DW_AT_SUN_memop_signature = 0x2219
DW_AT_SUN_obj_dir = 0x2220
DW_AT_SUN_obj_file = 0x2221
DW_AT_SUN_original_name = 0x2222
DW_AT_SUN_hwcprof_signature = 0x2223
DW_AT_SUN_amd64_parmdump = 0x2224
DW_AT_SUN_part_link_name = 0x2225
DW_AT_SUN_link_name = 0x2226
DW_AT_SUN_pass_with_const = 0x2227
DW_AT_SUN_return_with_const = 0x2228
DW_AT_SUN_import_by_name = 0x2229
DW_AT_SUN_90_pointer = 0x222A
DW_AT_SUN_pass_by_ref = 0x222B
DW_AT_SUN_f90_allocatable = 0x222C
DW_AT_SUN_f90_assumed_shape_array = 0x222D
DW_AT_SUN_c_vla = 0x222E
DW_AT_SUN_return_value_ptr = 0x2230
DW_AT_SUN_dtor_start = 0x2231
DW_AT_SUN_dtor_length = 0x2232
DW_AT_SUN_dtor_state_initial = 0x2233
DW_AT_SUN_dtor_state_final = 0x2234
DW_AT_SUN_dtor_state_deltas = 0x2235
DW_AT_SUN_import_by_lname = 0x2236
DW_AT_SUN_f90_use_only = 0x2237
DW_AT_SUN_namelist_spec = 0x2238
DW_AT_SUN_is_omp_child_func = 0x2239
DW_AT_SUN_fortran_main_alias = 0x223A
DW_AT_SUN_fortran_based = 0x223B
DW_AT_ALTIUM_loclist = 0x2300
DW_AT_use_GNAT_descriptive_type = 0x2301
DW_AT_GNAT_descriptive_type = 0x2302
DW_AT_GNU_numerator = 0x2303
DW_AT_GNU_denominator = 0x2304
DW_AT_GNU_bias = 0x2305
DW_AT_INTEL_simd_width = 0x2400
DW_AT_GO_kind = 0x2900
DW_AT_GO_key = 0x2901
DW_AT_GO_elem = 0x2902
DW_AT_GO_embedded_field = 0x2903
DW_AT_GO_runtime_type = 0x2904
DW_AT_UPC_threads_scaled = 0x3210
DW_AT_IBM_wsa_addr = 0x393E
DW_AT_IBM_home_location = 0x393F
DW_AT_IBM_alt_srcview = 0x3940
DW_AT_PGI_lbase = 0x3A00
DW_AT_PGI_soffset = 0x3A01
DW_AT_PGI_lstride = 0x3A02
DW_AT_BORLAND_property_read = 0x3B11
DW_AT_BORLAND_property_write = 0x3B12
DW_AT_BORLAND_property_implements = 0x3B13
DW_AT_BORLAND_property_index = 0x3B14
DW_AT_BORLAND_property_default = 0x3B15
DW_AT_BORLAND_Delphi_unit = 0x3B20
DW_AT_BORLAND_Delphi_class = 0x3B21
DW_AT_BORLAND_Delphi_record = 0x3B22
DW_AT_BORLAND_Delphi_metaclass = 0x3B23
DW_AT_BORLAND_Delphi_constructor = 0x3B24
DW_AT_BORLAND_Delphi_destructor = 0x3B25
DW_AT_BORLAND_Delphi_anonymous_method = 0x3B26
DW_AT_BORLAND_Delphi_interface = 0x3B27
DW_AT_BORLAND_Delphi_ABI = 0x3B28
DW_AT_BORLAND_Delphi_return = 0x3B29
DW_AT_BORLAND_Delphi_frameptr = 0x3B30
DW_AT_BORLAND_closure = 0x3B31
DW_AT_APPLE_optimized = 0x3FE1
DW_AT_APPLE_flags = 0x3FE2
DW_AT_APPLE_isa = 0x3FE3
DW_AT_APPLE_block = 0x3FE4
DW_AT_APPLE_major_runtime_vers = 0x3FE5
DW_AT_APPLE_runtime_class = 0x3FE6
DW_AT_APPLE_omit_frame_ptr = 0x3FE7
DW_AT_APPLE_property_name = 0x3FE8
DW_AT_APPLE_property_getter = 0x3FE9
DW_AT_APPLE_property_setter = 0x3FEA
DW_AT_APPLE_property_attribute = 0x3FEB
DW_AT_APPLE_objc_complete_type = 0x3FEC
DW_AT_APPLE_property = 0x3FED
DW_AT_APPLE_objc_direct = 0x3FEE
DW_AT_APPLE_sdk = 0x3FEF
DW_AT_APPLE_origin = 0x3FF0
DW_AT_APPLE_enum_kind = 0x3FF1

# Attributes of LLVM (its Dwarf.def). Those from 0x3E08 on were numbered anew in August 2025.
DW_AT_LLVM_include_path = 0x3E00
DW_AT_LLVM_config_macros = 0x3E01
DW_AT_LLVM_sysroot = 0x3E02
DW_AT_LLVM_tag_offset = 0x3E03
DW_AT_LLVM_ptrauth_key = 0x3E04
DW_AT_LLVM_ptrauth_address_discriminated = 0x3E05
DW_AT_LLVM_ptrauth_extra_discriminator = 0x3E06
DW_AT_LLVM_apinotes = 0x3E07
DW_AT_LLVM_ptrauth_isa_pointer = 0x3E08
DW_AT_LLVM_ptrauth_authenticates_null_values = 0x3E09
DW_AT_LLVM_ptrauth_authentication_mode = 0x3E0A
DW_AT_LLVM_num_extra_inhabitants = 0x3E0B
DW_AT_LLVM_stmt_sequence = 0x3E0C
DW_AT_LLVM_coro_suspend_idx = 0x3E0D
DW_AT_LLVM_alloc_type = 0x3E0E
DW_AT_LLVM_memory_space = 0x3E0F
DW_AT_LLVM_address_space = 0x3E10
DW_AT_LLVM_lanes = 0x3E11
DW_AT_LLVM_lane_pc = 0x3E12
DW_AT_LLVM_vector_size = 0x3E13
DW_AT_LLVM_virtual_call_origin = 0x3E14
DW_AT_LLVM_language_dialect = 0x3E15

LLVM_OLD_ATTRIBUTES = {
    "DW_AT_LLVM_active_lane": 0x3E08,
    "DW_AT_LLVM_augmentation": 0x3E09,
    "DW_AT_LLVM_lanes": 0x3E0A,
    "DW_AT_LLVM_iterations": 0x3E0A,
    "DW_AT_LLVM_lane_pc": 0x3E0B,
    "DW_AT_LLVM_vector_size": 0x3E0C,
}
"""The numbers that attributes of LLVM had before (A.7.5.4). The document gives one number to two of them."""

# Forms (DWARF 5, table 7.6)
DW_FORM_addr = 0x01
DW_FORM_block2 = 0x03
DW_FORM_block4 = 0x04
DW_FORM_data2 = 0x05
DW_FORM_data4 = 0x06
DW_FORM_data8 = 0x07
DW_FORM_string = 0x08
DW_FORM_block = 0x09
DW_FORM_block1 = 0x0A
DW_FORM_data1 = 0x0B
DW_FORM_flag = 0x0C
DW_FORM_sdata = 0x0D
DW_FORM_strp = 0x0E
DW_FORM_udata = 0x0F
DW_FORM_ref_addr = 0x10
DW_FORM_ref1 = 0x11
DW_FORM_ref2 = 0x12
DW_FORM_ref4 = 0x13
DW_FORM_ref8 = 0x14
DW_FORM_ref_udata = 0x15
DW_FORM_indirect = 0x16
DW_FORM_sec_offset = 0x17
DW_FORM_exprloc = 0x18
DW_FORM_flag_present = 0x19
DW_FORM_strx = 0x1A
DW_FORM_addrx = 0x1B
DW_FORM_ref_sup4 = 0x1C
DW_FORM_strp_sup = 0x1D
DW_FORM_data16 = 0x1E
DW_FORM_line_strp = 0x1F
DW_FORM_ref_sig8 = 0x20
DW_FORM_implicit_const = 0x21
DW_FORM_loclistx = 0x22
DW_FORM_rnglistx = 0x23
DW_FORM_ref_sup8 = 0x24
DW_FORM_strx1 = 0x25
DW_FORM_strx2 = 0x26
DW_FORM_strx3 = 0x27
DW_FORM_strx4 = 0x28
DW_FORM_addrx1 = 0x29
DW_FORM_addrx2 = 0x2A
DW_FORM_addrx3 = 0x2B
DW_FORM_addrx4 = 0x2C

# Forms of GNU and LLVM
DW_FORM_GNU_addr_index = 0x1F01
DW_FORM_GNU_str_index = 0x1F02
DW_FORM_GNU_ref_alt = 0x1F20
DW_FORM_GNU_strp_alt = 0x1F21
DW_FORM_LLVM_addrx_offset = 0x2001

# Encodings of base types (DWARF 5, table 7.11), and of HP
DW_ATE_address = 0x01
DW_ATE_boolean = 0x02
DW_ATE_complex_float = 0x03
DW_ATE_float = 0x04
DW_ATE_signed = 0x05
DW_ATE_signed_char = 0x06
DW_ATE_unsigned = 0x07
DW_ATE_unsigned_char = 0x08
DW_ATE_imaginary_float = 0x09
DW_ATE_packed_decimal = 0x0A
DW_ATE_numeric_string = 0x0B
DW_ATE_edited = 0x0C
DW_ATE_signed_fixed = 0x0D
DW_ATE_unsigned_fixed = 0x0E
DW_ATE_decimal_float = 0x0F
DW_ATE_UTF = 0x10
DW_ATE_UCS = 0x11
DW_ATE_ASCII = 0x12
DW_ATE_lo_user = 0x80
DW_ATE_HP_complex_float = 0x81
DW_ATE_HP_float128 = 0x82
DW_ATE_HP_complex_float128 = 0x83
DW_ATE_HP_floathpintel = 0x84
DW_ATE_HP_imaginary_float90 = 0x85
DW_ATE_HP_imaginary_float128 = 0x86

# Decimal signs (DWARF 5, table 7.12)
DW_DS_unsigned = 0x01
DW_DS_leading_overpunch = 0x02
DW_DS_trailing_overpunch = 0x03
DW_DS_leading_separate = 0x04
DW_DS_trailing_separate = 0x05

# Endianities (DWARF 5, table 7.13)
DW_END_default = 0x00
DW_END_big = 0x01
DW_END_little = 0x02

# Accessibilities (DWARF 5, table 7.14)
DW_ACCESS_public = 0x01
DW_ACCESS_protected = 0x02
DW_ACCESS_private = 0x03

# Visibilities (DWARF 5, table 7.15)
DW_VIS_local = 0x01
DW_VIS_exported = 0x02
DW_VIS_qualified = 0x03

# Virtualities (DWARF 5, table 7.16)
DW_VIRTUALITY_none = 0x00
DW_VIRTUALITY_virtual = 0x01
DW_VIRTUALITY_pure_virtual = 0x02

# Languages (DWARF 5, table 7.17), and what was assigned since (A.7.12)
DW_LANG_C89 = 0x0001
DW_LANG_C = 0x0002
DW_LANG_Ada83 = 0x0003
DW_LANG_C_plus_plus = 0x0004
DW_LANG_Cobol74 = 0x0005
DW_LANG_Cobol85 = 0x0006
DW_LANG_Fortran77 = 0x0007
DW_LANG_Fortran90 = 0x0008
DW_LANG_Pascal83 = 0x0009
DW_LANG_Modula2 = 0x000A
DW_LANG_Java = 0x000B
DW_LANG_C99 = 0x000C
DW_LANG_Ada95 = 0x000D
DW_LANG_Fortran95 = 0x000E
DW_LANG_PLI = 0x000F
DW_LANG_ObjC = 0x0010
DW_LANG_ObjC_plus_plus = 0x0011
DW_LANG_UPC = 0x0012
DW_LANG_D = 0x0013
DW_LANG_Python = 0x0014
DW_LANG_OpenCL = 0x0015
DW_LANG_Go = 0x0016
DW_LANG_Modula3 = 0x0017
DW_LANG_Haskell = 0x0018
DW_LANG_C_plus_plus_03 = 0x0019
DW_LANG_C_plus_plus_11 = 0x001A
DW_LANG_OCaml = 0x001B
DW_LANG_Rust = 0x001C
DW_LANG_C11 = 0x001D
DW_LANG_Swift = 0x001E
DW_LANG_Julia = 0x001F
DW_LANG_Dylan = 0x0020
DW_LANG_C_plus_plus_14 = 0x0021
DW_LANG_Fortran03 = 0x0022
DW_LANG_Fortran08 = 0x0023
DW_LANG_RenderScript = 0x0024
DW_LANG_BLISS = 0x0025
DW_LANG_Kotlin = 0x0026
DW_LANG_Zig = 0x0027
DW_LANG_Crystal = 0x0028
DW_LANG_C_plus_plus_17 = 0x002A
DW_LANG_C_plus_plus_20 = 0x002B
DW_LANG_C17 = 0x002C
DW_LANG_Fortran18 = 0x002D
DW_LANG_Ada2005 = 0x002E
DW_LANG_Ada2012 = 0x002F
DW_LANG_HIP = 0x0030
DW_LANG_Assembly = 0x0031
DW_LANG_C_sharp = 0x0032
DW_LANG_Mojo = 0x0033
DW_LANG_GLSL = 0x0034
DW_LANG_GLSL_ES = 0x0035
DW_LANG_HLSL = 0x0036
DW_LANG_OpenCL_CPP = 0x0037
DW_LANG_CPP_for_OpenCL = 0x0038
DW_LANG_SYCL = 0x0039
DW_LANG_Metal = 0x003D
DW_LANG_Ruby = 0x0040
DW_LANG_Move = 0x0041
DW_LANG_Hylo = 0x0042
DW_LANG_Mips_Assembler = 0x8001
DW_LANG_LLVM_HIP = 0x8100
DW_LANG_GOOGLE_RenderScript = 0x8E57
DW_LANG_BORLAND_Delphi = 0xB000

# Names of languages (the drafts of DWARF 6)
DW_LNAME_Ada = 0x01
DW_LNAME_BLISS = 0x02
DW_LNAME_C = 0x03
DW_LNAME_C_plus_plus = 0x04
DW_LNAME_Cobol = 0x05
DW_LNAME_Crystal = 0x06
DW_LNAME_D = 0x07
DW_LNAME_Dylan = 0x08
DW_LNAME_Fortran = 0x09
DW_LNAME_Go = 0x0A
DW_LNAME_Haskell = 0x0B
DW_LNAME_Java = 0x0C
DW_LNAME_Julia = 0x0D
DW_LNAME_Kotlin = 0x0E
DW_LNAME_Modula2 = 0x0F
DW_LNAME_Modula3 = 0x10
DW_LNAME_ObjC = 0x11
DW_LNAME_ObjC_plus_plus = 0x12
DW_LNAME_OCaml = 0x13
DW_LNAME_OpenCL_C = 0x14
DW_LNAME_Pascal = 0x15
DW_LNAME_PLI = 0x16
DW_LNAME_Python = 0x17
DW_LNAME_RenderScript = 0x18
DW_LNAME_Rust = 0x19
DW_LNAME_Swift = 0x1A
DW_LNAME_UPC = 0x1B
DW_LNAME_Zig = 0x1C
DW_LNAME_Assembly = 0x1D
DW_LNAME_C_sharp = 0x1E
DW_LNAME_Mojo = 0x1F
DW_LNAME_GLSL = 0x20
DW_LNAME_GLSL_ES = 0x21
DW_LNAME_HLSL = 0x22
DW_LNAME_OpenCL_CPP = 0x23
DW_LNAME_CPP_for_OpenCL = 0x24
DW_LNAME_SYCL = 0x25
DW_LNAME_Ruby = 0x26
DW_LNAME_Move = 0x27
DW_LNAME_Hylo = 0x28
DW_LNAME_HIP = 0x29
DW_LNAME_Metal = 0x2C

# Cases of identifiers (DWARF 5, table 7.18)
DW_ID_case_sensitive = 0x00
DW_ID_up_case = 0x01
DW_ID_down_case = 0x02
DW_ID_case_insensitive = 0x03

# Calling conventions (DWARF 5, table 7.19), and of vendors
DW_CC_normal = 0x01
DW_CC_program = 0x02
DW_CC_nocall = 0x03
DW_CC_pass_by_reference = 0x04
DW_CC_pass_by_value = 0x05
DW_CC_GNU_renesas_sh = 0x40
DW_CC_GNU_borland_fastcall_i386 = 0x41
DW_CC_BORLAND_safecall = 0xB0
DW_CC_BORLAND_stdcall = 0xB1
DW_CC_BORLAND_pascal = 0xB2
DW_CC_BORLAND_msfastcall = 0xB3
DW_CC_BORLAND_msreturn = 0xB4
DW_CC_BORLAND_thiscall = 0xB5
DW_CC_BORLAND_fastcall = 0xB6
DW_CC_LLVM_vectorcall = 0xC0
DW_CC_LLVM_Win64 = 0xC1
DW_CC_LLVM_X86_64SysV = 0xC2
DW_CC_LLVM_AAPCS = 0xC3
DW_CC_LLVM_AAPCS_VFP = 0xC4
DW_CC_LLVM_IntelOclBicc = 0xC5
DW_CC_LLVM_SpirFunction = 0xC6
DW_CC_LLVM_DeviceKernel = 0xC7
DW_CC_LLVM_Swift = 0xC8
DW_CC_LLVM_PreserveMost = 0xC9
DW_CC_LLVM_PreserveAll = 0xCA
DW_CC_LLVM_X86RegCall = 0xCB
DW_CC_LLVM_M68kRTD = 0xCC
DW_CC_LLVM_PreserveNone = 0xCD
DW_CC_LLVM_RISCVVectorCall = 0xCE
DW_CC_LLVM_SwiftTail = 0xCF
DW_CC_LLVM_RISCVVLSCall = 0xD0
DW_CC_GDB_IBM_OpenCL = 0xFF

# Inlining (DWARF 5, table 7.20)
DW_INL_not_inlined = 0x00
DW_INL_inlined = 0x01
DW_INL_declared_not_inlined = 0x02
DW_INL_declared_inlined = 0x03

# Orders of arrays (DWARF 5, table 7.21)
DW_ORD_row_major = 0x00
DW_ORD_col_major = 0x01

# Discriminants (DWARF 5, table 7.22)
DW_DSC_label = 0x00
DW_DSC_range = 0x01

# Attributes of name index entries (DWARF 5, table 7.23), and of GNU
DW_IDX_compile_unit = 0x01
DW_IDX_type_unit = 0x02
DW_IDX_die_offset = 0x03
DW_IDX_parent = 0x04
DW_IDX_type_hash = 0x05
DW_IDX_GNU_internal = 0x2000
DW_IDX_GNU_external = 0x2001

# Defaulted members (DWARF 5, table 7.24)
DW_DEFAULTED_no = 0x00
DW_DEFAULTED_in_class = 0x01
DW_DEFAULTED_out_of_class = 0x02

# Memory spaces (A.7.15)
DW_MSPACE_LLVM_none = 0x00
DW_MSPACE_LLVM_global = 0x01
DW_MSPACE_LLVM_constant = 0x02
DW_MSPACE_LLVM_group = 0x03
DW_MSPACE_LLVM_private = 0x04

# Standard opcodes of line tables (DWARF 5, table 7.25)
DW_LNS_copy = 0x01
DW_LNS_advance_pc = 0x02
DW_LNS_advance_line = 0x03
DW_LNS_set_file = 0x04
DW_LNS_set_column = 0x05
DW_LNS_negate_stmt = 0x06
DW_LNS_set_basic_block = 0x07
DW_LNS_const_add_pc = 0x08
DW_LNS_fixed_advance_pc = 0x09
DW_LNS_set_prologue_end = 0x0A
DW_LNS_set_epilogue_begin = 0x0B
DW_LNS_set_isa = 0x0C

# Extended opcodes of line tables (DWARF 5, table 7.26); the third is of DWARF 4
DW_LNE_end_sequence = 0x01
DW_LNE_set_address = 0x02
DW_LNE_define_file = 0x03
DW_LNE_set_discriminator = 0x04

# What a column of a file table is (DWARF 5, table 7.27), and of LLVM (A.6.2.4.1)
DW_LNCT_path = 0x01
DW_LNCT_directory_index = 0x02
DW_LNCT_timestamp = 0x03
DW_LNCT_size = 0x04
DW_LNCT_MD5 = 0x05
DW_LNCT_LLVM_source = 0x2001
DW_LNCT_LLVM_is_MD5 = 0x2002

# Macro entries (DWARF 5, table 7.28)
DW_MACRO_define = 0x01
DW_MACRO_undef = 0x02
DW_MACRO_start_file = 0x03
DW_MACRO_end_file = 0x04
DW_MACRO_define_strp = 0x05
DW_MACRO_undef_strp = 0x06
DW_MACRO_import = 0x07
DW_MACRO_define_sup = 0x08
DW_MACRO_undef_sup = 0x09
DW_MACRO_import_sup = 0x0A
DW_MACRO_define_strx = 0x0B
DW_MACRO_undef_strx = 0x0C

# Macro entries of GNU in DWARF 4
DW_MACRO_GNU_define = 0x01
DW_MACRO_GNU_undef = 0x02
DW_MACRO_GNU_start_file = 0x03
DW_MACRO_GNU_end_file = 0x04
DW_MACRO_GNU_define_indirect = 0x05
DW_MACRO_GNU_undef_indirect = 0x06
DW_MACRO_GNU_transparent_include = 0x07
DW_MACRO_GNU_define_indirect_alt = 0x08
DW_MACRO_GNU_undef_indirect_alt = 0x09
DW_MACRO_GNU_transparent_include_alt = 0x0A

# Macro entries of .debug_macinfo (DWARF 4, 7.22)
DW_MACINFO_define = 0x01
DW_MACINFO_undef = 0x02
DW_MACINFO_start_file = 0x03
DW_MACINFO_end_file = 0x04
DW_MACINFO_vendor_ext = 0xFF

# Call frame instructions (DWARF 5, table 7.29); the first three hold an operand in their low six bits
DW_CFA_advance_loc = 0x40
DW_CFA_offset = 0x80
DW_CFA_restore = 0xC0
DW_CFA_nop = 0x00
DW_CFA_set_loc = 0x01
DW_CFA_advance_loc1 = 0x02
DW_CFA_advance_loc2 = 0x03
DW_CFA_advance_loc4 = 0x04
DW_CFA_offset_extended = 0x05
DW_CFA_restore_extended = 0x06
DW_CFA_undefined = 0x07
DW_CFA_same_value = 0x08
DW_CFA_register = 0x09
DW_CFA_remember_state = 0x0A
DW_CFA_restore_state = 0x0B
DW_CFA_def_cfa = 0x0C
DW_CFA_def_cfa_register = 0x0D
DW_CFA_def_cfa_offset = 0x0E
DW_CFA_def_cfa_expression = 0x0F
DW_CFA_expression = 0x10
DW_CFA_offset_extended_sf = 0x11
DW_CFA_def_cfa_sf = 0x12
DW_CFA_def_cfa_offset_sf = 0x13
DW_CFA_val_offset = 0x14
DW_CFA_val_offset_sf = 0x15
DW_CFA_val_expression = 0x16

# Call frame instructions of vendors; those of LLVM: A.7.24
DW_CFA_MIPS_advance_loc8 = 0x1D
DW_CFA_AARCH64_set_ra_state = 0x2B
DW_CFA_AARCH64_negate_ra_state_with_pc = 0x2C
DW_CFA_GNU_window_save = 0x2D
DW_CFA_AARCH64_negate_ra_state = 0x2D
DW_CFA_GNU_args_size = 0x2E
DW_CFA_GNU_negative_offset_extended = 0x2F
DW_CFA_LLVM_def_aspace_cfa = 0x30
DW_CFA_LLVM_def_aspace_cfa_sf = 0x31

# Entries of range lists (DWARF 5, table 7.30)
DW_RLE_end_of_list = 0x00
DW_RLE_base_addressx = 0x01
DW_RLE_startx_endx = 0x02
DW_RLE_startx_length = 0x03
DW_RLE_offset_pair = 0x04
DW_RLE_base_address = 0x05
DW_RLE_start_end = 0x06
DW_RLE_start_length = 0x07

# Entries of location lists (DWARF 5, table 7.10), and of GNU
DW_LLE_end_of_list = 0x00
DW_LLE_base_addressx = 0x01
DW_LLE_startx_endx = 0x02
DW_LLE_startx_length = 0x03
DW_LLE_offset_pair = 0x04
DW_LLE_default_location = 0x05
DW_LLE_base_address = 0x06
DW_LLE_start_end = 0x07
DW_LLE_start_length = 0x08
DW_LLE_GNU_view_pair = 0x09

# Entries of location lists in the split files of GNU for DWARF 4
DW_LLE_GNU_end_of_list_entry = 0x00
DW_LLE_GNU_base_address_selection_entry = 0x01
DW_LLE_GNU_start_end_entry = 0x02
DW_LLE_GNU_start_length_entry = 0x03
DW_LLE_GNU_offset_pair_entry = 0x04

# Sections of packages (DWARF 5, table 7.1)
DW_SECT_INFO = 0x01
DW_SECT_ABBREV = 0x03
DW_SECT_LINE = 0x04
DW_SECT_LOCLISTS = 0x05
DW_SECT_STR_OFFSETS = 0x06
DW_SECT_MACRO = 0x07
DW_SECT_RNGLISTS = 0x08

# Sections of the packages of GNU for DWARF 4
DW_SECT_GNU_INFO = 0x01
DW_SECT_GNU_TYPES = 0x02
DW_SECT_GNU_ABBREV = 0x03
DW_SECT_GNU_LINE = 0x04
DW_SECT_GNU_LOC = 0x05
DW_SECT_GNU_STR_OFFSETS = 0x06
DW_SECT_GNU_MACINFO = 0x07
DW_SECT_GNU_MACRO = 0x08

# Encodings of pointers in .eh_frame (LSB 5.0, 10.5.1): a format, what it counts from, whether it is indirect
DW_EH_PE_absptr = 0x00
DW_EH_PE_uleb128 = 0x01
DW_EH_PE_udata2 = 0x02
DW_EH_PE_udata4 = 0x03
DW_EH_PE_udata8 = 0x04
DW_EH_PE_signed = 0x08
DW_EH_PE_sleb128 = 0x09
DW_EH_PE_sdata2 = 0x0A
DW_EH_PE_sdata4 = 0x0B
DW_EH_PE_sdata8 = 0x0C
DW_EH_PE_pcrel = 0x10
DW_EH_PE_textrel = 0x20
DW_EH_PE_datarel = 0x30
DW_EH_PE_funcrel = 0x40
DW_EH_PE_aligned = 0x50
DW_EH_PE_indirect = 0x80
DW_EH_PE_omit = 0xFF

# --- From numbers to names ----------------------------------------------------------------------------------------


@cache
def names(kind: str) -> dict[int, str]:
    """Return the names of a kind, such as ``DW_TAG``, by number. Of two names for a number the first counts."""
    result: dict[int, str] = {}
    for name, number in globals().items():
        if name.startswith(f"{kind}_") and not name.endswith("_lo_user"):
            result.setdefault(number, name)
    return result


def name_of(kind: str, number: int) -> str:
    """Return the name of a number of a kind, and for an unknown number a name that shows it."""
    return names(kind).get(number) or f"{kind}_unknown_{number:#x}"


def number_of(name: str) -> int | None:
    """Return the number of a full name, such as ``DW_TAG_subprogram``; None for an unknown name."""
    return globals().get(name) if name.startswith("DW_") else None
