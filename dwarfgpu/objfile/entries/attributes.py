"""Attributes: their numbers and names (DWARF 5 section 7.5.4), which for LLVM's depend on the dialect (A.7.5.4).

The attributes of the heterogeneous extensions were numbered anew in 2025. The document this project follows still has
the numbers of before; compilers used those until then, and now use them for other attributes. So a number from 0x3e08
on has two meanings, and the bytes do not tell which: an `AttributeDialect` is chosen by whoever knows where they come
from, or by the rule of `dialect_for`, and results name it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.errors import UsageError
from dwarfgpu.objfile.entries.constants import names

if TYPE_CHECKING:
    from dwarfgpu.objfile.entries.forms import Class

# DWARF 5 table 7.5, and DW_AT_language_name and DW_AT_language_version of the drafts of version 6.
STANDARD = names(
    "DW_AT_",
    """
01 sibling  02 location  03 name  09 ordering  0b byte_size  0c bit_offset  0d bit_size  10 stmt_list
11 low_pc  12 high_pc  13 language  15 discr  16 discr_value  17 visibility  18 import  19 string_length
1a common_reference  1b comp_dir  1c const_value  1d containing_type  1e default_value  20 inline
21 is_optional  22 lower_bound  25 producer  27 prototyped  2a return_addr  2c start_scope  2e bit_stride
2f upper_bound  31 abstract_origin  32 accessibility  33 address_class  34 artificial  35 base_types
36 calling_convention  37 count  38 data_member_location  39 decl_column  3a decl_file  3b decl_line
3c declaration  3d discr_list  3e encoding  3f external  40 frame_base  41 friend  42 identifier_case
43 macro_info  44 namelist_item  45 priority  46 segment  47 specification  48 static_link  49 type
4a use_location  4b variable_parameter  4c virtuality  4d vtable_elem_location  4e allocated  4f associated
50 data_location  51 byte_stride  52 entry_pc  53 use_UTF8  54 extension  55 ranges  56 trampoline
57 call_column  58 call_file  59 call_line  5a description  5b binary_scale  5c decimal_scale  5d small
5e decimal_sign  5f digit_count  60 picture_string  61 mutable  62 threads_scaled  63 explicit
64 object_pointer  65 endianity  66 elemental  67 pure  68 recursive  69 signature  6a main_subprogram
6b data_bit_offset  6c const_expr  6d enum_class  6e linkage_name  6f string_length_bit_size
70 string_length_byte_size  71 rank  72 str_offsets_base  73 addr_base  74 rnglists_base  75 dwo_id
76 dwo_name  77 reference  78 rvalue_reference  79 macros  7a call_all_calls  7b call_all_source_calls
7c call_all_tail_calls  7d call_return_pc  7e call_value  7f call_origin  80 call_parameter  81 call_pc
82 call_tail_call  83 call_target  84 call_target_clobbered  85 call_data_location  86 call_data_value
87 noreturn  88 alignment  89 export_symbols  8a deleted  8b defaulted  8c loclists_base  90 language_name
91 language_version
    """,
)

# Vendors, without LLVM. Where several use a number, the one whose files are still met has it.
VENDORS = names(
    "DW_AT_",
    """
0806 GHS_namespace_alias  0807 GHS_using_namespace  0808 GHS_using_declaration  2001 MIPS_fde
2002 MIPS_loop_begin  2003 MIPS_tail_loop_begin  2004 MIPS_epilog_begin  2005 MIPS_loop_unroll_factor
2006 MIPS_software_pipeline_depth  2007 MIPS_linkage_name  2008 MIPS_stride  2009 MIPS_abstract_name
200a MIPS_clone_origin  200b MIPS_has_inlines  200c MIPS_stride_byte  200d MIPS_stride_elem
200e MIPS_ptr_dopetype  200f MIPS_allocatable_dopetype  2010 MIPS_assumed_shape_dopetype
2011 MIPS_assumed_size  2012 HP_raw_data_ptr  2013 HP_pass_by_reference  2014 HP_opt_level
2015 HP_prof_version_id  2016 HP_opt_flags  2017 HP_cold_region_low_pc  2018 HP_cold_region_high_pc
2019 HP_all_variables_modifiable  201a HP_linkage_name  201b HP_prof_flags  201f HP_unit_name
2020 HP_unit_size  2021 HP_widened_byte_size  2022 HP_definition_points  2023 HP_default_location
2026 INTEL_other_endian  2029 HP_is_result_param  2083 GHS_rsm  2085 GHS_frsm  2086 GHS_frames  2087 GHS_rso
2092 GHS_subcpu  2093 GHS_lbrace_line  2101 sf_names  2102 src_info  2103 mac_info  2104 src_coords
2105 body_begin  2106 body_end  2107 GNU_vector  210f GNU_odr_signature  2110 GNU_template_name
2111 GNU_call_site_value  2112 GNU_call_site_data_value  2113 GNU_call_site_target
2114 GNU_call_site_target_clobbered  2115 GNU_tail_call  2116 GNU_all_tail_call_sites
2117 GNU_all_call_sites  2118 GNU_all_source_call_sites  2119 GNU_macros  211a GNU_deleted
2130 GNU_dwo_name  2131 GNU_dwo_id  2132 GNU_ranges_base  2133 GNU_addr_base  2134 GNU_pubnames
2135 GNU_pubtypes  2136 GNU_discriminator  2137 GNU_locviews  2138 GNU_entry_view  2201 SUN_template
2202 SUN_alignment  2203 SUN_vtable  2204 SUN_count_guarantee  2205 SUN_command_line  2206 SUN_vbase
2207 SUN_compile_options  2208 SUN_language  2209 SUN_browser_file  2210 SUN_vtable_abi
2211 SUN_func_offsets  2212 SUN_cf_kind  2213 SUN_vtable_index  2214 SUN_omp_tpriv_addr
2215 SUN_omp_child_func  2216 SUN_func_offset  2217 SUN_memop_type_ref  2218 SUN_profile_id
2219 SUN_memop_signature  2220 SUN_obj_dir  2221 SUN_obj_file  2222 SUN_original_name
2223 SUN_hwcprof_signature  2224 SUN_amd64_parmdump  2225 SUN_part_link_name  2226 SUN_link_name
2227 SUN_pass_with_const  2228 SUN_return_with_const  2229 SUN_import_by_name  222a SUN_90_pointer
222b SUN_pass_by_ref  222c SUN_f90_allocatable  222d SUN_f90_assumed_shape_array  222e SUN_c_vla
2230 SUN_return_value_ptr  2231 SUN_dtor_start  2232 SUN_dtor_length  2233 SUN_dtor_state_initial
2234 SUN_dtor_state_final  2235 SUN_dtor_state_deltas  2236 SUN_import_by_lname  2237 SUN_f90_use_only
2238 SUN_namelist_spec  2239 SUN_is_omp_child_func  223a SUN_fortran_main_alias  223b SUN_fortran_based
2300 ALTIUM_loclist  2301 use_GNAT_descriptive_type  2302 GNAT_descriptive_type  2303 GNU_numerator
2304 GNU_denominator  2305 GNU_bias  2400 INTEL_simd_width  2900 GO_kind  2901 GO_key  2902 GO_elem
2903 GO_embedded_field  2904 GO_runtime_type  3210 UPC_threads_scaled  393e IBM_wsa_addr
393f IBM_home_location  3940 IBM_alt_srcview  3a00 PGI_lbase  3a01 PGI_soffset  3a02 PGI_lstride
3b11 BORLAND_property_read  3b12 BORLAND_property_write  3b13 BORLAND_property_implements
3b14 BORLAND_property_index  3b15 BORLAND_property_default  3b20 BORLAND_Delphi_unit
3b21 BORLAND_Delphi_class  3b22 BORLAND_Delphi_record  3b23 BORLAND_Delphi_metaclass
3b24 BORLAND_Delphi_constructor  3b25 BORLAND_Delphi_destructor  3b26 BORLAND_Delphi_anonymous_method
3b27 BORLAND_Delphi_interface  3b28 BORLAND_Delphi_ABI  3b29 BORLAND_Delphi_return
3b30 BORLAND_Delphi_frameptr  3b31 BORLAND_closure  3fe1 APPLE_optimized  3fe2 APPLE_flags  3fe3 APPLE_isa
3fe4 APPLE_block  3fe5 APPLE_major_runtime_vers  3fe6 APPLE_runtime_class  3fe7 APPLE_omit_frame_ptr
3fe8 APPLE_property_name  3fe9 APPLE_property_getter  3fea APPLE_property_setter
3feb APPLE_property_attribute  3fec APPLE_objc_complete_type  3fed APPLE_property  3fee APPLE_objc_direct
3fef APPLE_sdk  3ff0 APPLE_origin  3ff1 APPLE_enum_kind
    """,
)

# The numbers of LLVM that never changed.
LLVM_COMMON = names(
    "DW_AT_",
    """
3e00 LLVM_include_path  3e01 LLVM_config_macros  3e02 LLVM_sysroot  3e03 LLVM_tag_offset
3e04 LLVM_ptrauth_key  3e05 LLVM_ptrauth_address_discriminated  3e06 LLVM_ptrauth_extra_discriminator
3e07 LLVM_apinotes
    """,
)


@frozen
class AttributeDialect:
    """Which number is which attribute."""

    name: str
    names: dict[int, str]
    codes: dict[str, int]
    by_class: dict[tuple[int, Class], str]
    """Names of numbers that mean two attributes, told apart by the class of the value."""
    source: str

    def name_of(self, code: int, value_class: Class) -> str:
        """The name of an attribute; for an unknown number one that shows it."""
        if self.by_class:
            special = self.by_class.get((code, value_class))
            if special is not None:
                return special
        return self.names.get(code) or f"DW_AT_unknown_{code:#x}"

    def __repr__(self) -> str:
        return f"AttributeDialect({self.name})"


def _dialect(
    name: str, llvm: dict[int, str], source: str, by_class: dict[tuple[int, Class], str] | None = None
) -> AttributeDialect:
    table = {**VENDORS, **LLVM_COMMON, **llvm, **STANDARD}
    codes = {attribute: code for code, attribute in table.items()}
    codes.update((attribute, code) for (code, _), attribute in (by_class or {}).items())
    return AttributeDialect(name, table, codes, by_class or {}, source)


LLVM_CURRENT = _dialect(
    "llvm-current",
    names(
        "DW_AT_",
        """
3e08 LLVM_ptrauth_isa_pointer  3e09 LLVM_ptrauth_authenticates_null_values
3e0a LLVM_ptrauth_authentication_mode  3e0b LLVM_num_extra_inhabitants  3e0c LLVM_stmt_sequence
3e0d LLVM_coro_suspend_idx  3e0e LLVM_alloc_type  3e0f LLVM_memory_space  3e10 LLVM_address_space
3e11 LLVM_lanes  3e12 LLVM_lane_pc  3e13 LLVM_vector_size  3e14 LLVM_virtual_call_origin
3e15 LLVM_language_dialect
        """,
    ),
    "LLVM's Dwarf.def since August 2025",
)

# The document gives 0x3e0a twice: the number of lanes is a constant (A.3.3.5), so an expression is that of iterations.
LLVM_OLD = _dialect(
    "llvm-old",
    names(
        "DW_AT_",
        "3e08 LLVM_active_lane  3e09 LLVM_augmentation  3e0a LLVM_lanes  3e0b LLVM_lane_pc  3e0c LLVM_vector_size",
    ),
    "A.7.5.4, compilers of ROCm until version 21 of LLVM",
    {
        (0x3E0A, "exprloc"): "DW_AT_LLVM_iterations",
        (0x3E0A, "loclist"): "DW_AT_LLVM_iterations",
        (0x3E0A, "unknown"): "DW_AT_LLVM_iterations",  # an offset, of which the name says what is there
    },
)

DIALECTS = {dialect.name: dialect for dialect in (LLVM_CURRENT, LLVM_OLD)}

AUGMENTATION_CODE = 0x3E09
"""DW_AT_LLVM_augmentation in the old numbering. In the current one the number is a flag, so a string tells."""

_ROCM = re.compile(r"(?:AMD |RadeonOpenCompute|ROCm|roc-\d)")
_CLANG = re.compile(r"clang version (\d+)")
FIRST_CURRENT = 22
"""The first version of LLVM with the current numbers."""


def dialect(name: str) -> AttributeDialect:
    """The dialect with a name."""
    found = DIALECTS.get(name)
    if found is None:
        raise UsageError(
            f"there is no attribute dialect {name}", hint=f"the dialects are {', '.join(DIALECTS)}"
        )
    return found


def dialect_for(producer: str | None, augmentation: str | None) -> tuple[AttributeDialect, str]:
    """The dialect of a unit that nobody has named one for, and the reason.

    The old numbers are meant where a string of the unit says so: an augmentation string in the place where the old
    numbering has it (A.3.1.1), or a producer that is a compiler of ROCm before LLVM 22. Otherwise the current ones are.
    """
    if augmentation is not None:
        return LLVM_OLD, f"the unit has the augmentation string {augmentation}"
    if producer and _ROCM.search(producer):
        version = _CLANG.search(producer)
        if version is not None and int(version[1]) < FIRST_CURRENT:
            return LLVM_OLD, f"the producer is {version[0]} of ROCm"
    return LLVM_CURRENT, "nothing in the unit says otherwise"


# --- Numbers that the reader itself asks for ----------------------------------------------------------------------

SIBLING, LOCATION, NAME, BYTE_SIZE, STMT_LIST, LOW_PC, HIGH_PC = 0x01, 0x02, 0x03, 0x0B, 0x10, 0x11, 0x12
COMP_DIR, CONST_VALUE, INLINE, PRODUCER, UPPER_BOUND, ABSTRACT_ORIGIN = 0x1B, 0x1C, 0x20, 0x25, 0x2F, 0x31
COUNT, DECLARATION, SPECIFICATION, TYPE, ENTRY_PC, RANGES = 0x37, 0x3C, 0x47, 0x49, 0x52, 0x55
SIGNATURE, LINKAGE_NAME, STR_OFFSETS_BASE, ADDR_BASE, RNGLISTS_BASE = 0x69, 0x6E, 0x72, 0x73, 0x74
DWO_ID, DWO_NAME, LOCLISTS_BASE, MIPS_LINKAGE_NAME = 0x75, 0x76, 0x8C, 0x2007
CALL_COLUMN, CALL_FILE, CALL_LINE = 0x57, 0x58, 0x59
LANGUAGE, CONTAINING_TYPE, LOWER_BOUND = 0x13, 0x1D, 0x22
MACRO_INFO, MACROS, GNU_MACROS = 0x43, 0x79, 0x2119
GNU_DWO_NAME, GNU_DWO_ID, GNU_RANGES_BASE, GNU_ADDR_BASE = 0x2130, 0x2131, 0x2132, 0x2133
