"""The numbers of DWARF that are names in the text: tags, languages, encodings (DWARF 5 section 7.5 to 7.22).

Each table maps numbers to full names, such as ``TAG[0x2E] == "DW_TAG_subprogram"``. Attributes have a module of their
own, because their numbers depend on the dialect (`attributes`), and so have forms, because they have a size (`forms`).
"""

from __future__ import annotations


def names(prefix: str, table: str) -> dict[int, str]:
    """Parse a table of hexadecimal numbers and names; of two names for a number the first counts."""
    words = table.split()
    found: dict[int, str] = {}
    for number, name in zip(words[::2], words[1::2], strict=True):
        found.setdefault(int(number, 16), prefix + name)
    return found


def name_of(table: dict[int, str], prefix: str, number: int) -> str:
    """The name of a number, and for an unknown one a name that shows it."""
    return table.get(number) or f"{prefix}unknown_{number:#x}"


# DWARF 5 table 7.3; from 0x4080 on those of vendors.
TAG = names(
    "DW_TAG_",
    """
0000 null  0001 array_type  0002 class_type  0003 entry_point  0004 enumeration_type
0005 formal_parameter  0008 imported_declaration  000a label  000b lexical_block  000d member
000f pointer_type  0010 reference_type  0011 compile_unit  0012 string_type  0013 structure_type
0015 subroutine_type  0016 typedef  0017 union_type  0018 unspecified_parameters  0019 variant
001a common_block  001b common_inclusion  001c inheritance  001d inlined_subroutine  001e module
001f ptr_to_member_type  0020 set_type  0021 subrange_type  0022 with_stmt  0023 access_declaration
0024 base_type  0025 catch_block  0026 const_type  0027 constant  0028 enumerator  0029 file_type
002a friend  002b namelist  002c namelist_item  002d packed_type  002e subprogram
002f template_type_parameter  0030 template_value_parameter  0031 thrown_type  0032 try_block
0033 variant_part  0034 variable  0035 volatile_type  0036 dwarf_procedure  0037 restrict_type
0038 interface_type  0039 namespace  003a imported_module  003b unspecified_type  003c partial_unit
003d imported_unit  003f condition  0040 shared_type  0041 type_unit  0042 rvalue_reference_type
0043 template_alias  0044 coarray_type  0045 generic_subrange  0046 dynamic_type  0047 atomic_type
0048 call_site  0049 call_site_parameter  004a skeleton_unit  004b immutable_type  4081 MIPS_loop
4101 format_label  4102 function_template  4103 class_template  4104 GNU_BINCL  4105 GNU_EINCL
4106 GNU_template_template_param  4107 GNU_template_parameter_pack  4108 GNU_formal_parameter_pack
4109 GNU_call_site  410a GNU_call_site_parameter  4200 APPLE_property  4201 SUN_function_template
4202 SUN_class_template  4203 SUN_struct_template  4204 SUN_union_template
4205 SUN_indirect_inheritance  4206 SUN_codeflags  4207 SUN_memop_info  4208 SUN_omp_child_func
4209 SUN_rtti_descriptor  420a SUN_dtor_info  420b SUN_dtor  420c SUN_f90_interface
420d SUN_fortran_vax_structure  42ff SUN_hi  4300 LLVM_ptrauth_type  5101 ALTIUM_circ_type
5102 ALTIUM_mwa_circ_type  5103 ALTIUM_rev_carry_type  5111 ALTIUM_rom  6000 LLVM_annotation
8004 GHS_namespace  8005 GHS_using_namespace  8006 GHS_using_declaration  8007 GHS_template_templ_param
8765 UPC_shared_type  8766 UPC_strict_type  8767 UPC_relaxed  a000 PGI_kanji_type
a020 PGI_interface_block  b000 BORLAND_property  b001 BORLAND_Delphi_string
b002 BORLAND_Delphi_dynamic_array  b003 BORLAND_Delphi_set  b004 BORLAND_Delphi_variant
    """,
)

# DWARF 5 table 7.2.
UT = names(
    "DW_UT_",
    """
01 compile  02 type  03 partial  04 skeleton  05 split_compile  06 split_type
    """,
)

# DWARF 5 table 7.11.
ATE = names(
    "DW_ATE_",
    """
01 address  02 boolean  03 complex_float  04 float  05 signed  06 signed_char  07 unsigned
08 unsigned_char  09 imaginary_float  0a packed_decimal  0b numeric_string  0c edited  0d signed_fixed
0e unsigned_fixed  0f decimal_float  10 UTF  11 UCS  12 ASCII  81 HP_complex_float  82 HP_float128
83 HP_complex_float128  84 HP_floathpintel  85 HP_imaginary_float90  86 HP_imaginary_float128
    """,
)

# DWARF 5 table 7.17, and what was assigned since; A.7.12.
LANG = names(
    "DW_LANG_",
    """
0001 C89  0002 C  0003 Ada83  0004 C_plus_plus  0005 Cobol74  0006 Cobol85  0007 Fortran77
0008 Fortran90  0009 Pascal83  000a Modula2  000b Java  000c C99  000d Ada95  000e Fortran95  000f PLI
0010 ObjC  0011 ObjC_plus_plus  0012 UPC  0013 D  0014 Python  0015 OpenCL  0016 Go  0017 Modula3
0018 Haskell  0019 C_plus_plus_03  001a C_plus_plus_11  001b OCaml  001c Rust  001d C11  001e Swift
001f Julia  0020 Dylan  0021 C_plus_plus_14  0022 Fortran03  0023 Fortran08  0024 RenderScript
0025 BLISS  0026 Kotlin  0027 Zig  0028 Crystal  002a C_plus_plus_17  002b C_plus_plus_20  002c C17
002d Fortran18  002e Ada2005  002f Ada2012  0030 HIP  0031 Assembly  0032 C_sharp  0033 Mojo  0034 GLSL
0035 GLSL_ES  0036 HLSL  0037 OpenCL_CPP  0038 CPP_for_OpenCL  0039 SYCL  003d Metal  0040 Ruby
0041 Move  0042 Hylo  8001 Mips_Assembler  8100 LLVM_HIP  8e57 GOOGLE_RenderScript  b000 BORLAND_Delphi
    """,
)

# The language names of DWARF 6.
LNAME = names(
    "DW_LNAME_",
    """
01 Ada  02 BLISS  03 C  04 C_plus_plus  05 Cobol  06 Crystal  07 D  08 Dylan  09 Fortran  0a Go
0b Haskell  0c Java  0d Julia  0e Kotlin  0f Modula2  10 Modula3  11 ObjC  12 ObjC_plus_plus  13 OCaml
14 OpenCL_C  15 Pascal  16 PLI  17 Python  18 RenderScript  19 Rust  1a Swift  1b UPC  1c Zig
1d Assembly  1e C_sharp  1f Mojo  20 GLSL  21 GLSL_ES  22 HLSL  23 OpenCL_CPP  24 CPP_for_OpenCL
25 SYCL  26 Ruby  27 Move  28 Hylo  29 HIP  2c Metal
    """,
)

# DWARF 5 table 7.18, and of vendors.
CC = names(
    "DW_CC_",
    """
01 normal  02 program  03 nocall  04 pass_by_reference  05 pass_by_value  40 GNU_renesas_sh
41 GNU_borland_fastcall_i386  b0 BORLAND_safecall  b1 BORLAND_stdcall  b2 BORLAND_pascal
b3 BORLAND_msfastcall  b4 BORLAND_msreturn  b5 BORLAND_thiscall  b6 BORLAND_fastcall  c0 LLVM_vectorcall
c1 LLVM_Win64  c2 LLVM_X86_64SysV  c3 LLVM_AAPCS  c4 LLVM_AAPCS_VFP  c5 LLVM_IntelOclBicc
c6 LLVM_SpirFunction  c7 LLVM_DeviceKernel  c8 LLVM_Swift  c9 LLVM_PreserveMost  ca LLVM_PreserveAll
cb LLVM_X86RegCall  cc LLVM_M68kRTD  cd LLVM_PreserveNone  ce LLVM_RISCVVectorCall  cf LLVM_SwiftTail
d0 LLVM_RISCVVLSCall  ff GDB_IBM_OpenCL
    """,
)

# DWARF 5 tables 7.12 to 7.24; A.7.15.
DS = names(
    "DW_DS_",
    "01 unsigned  02 leading_overpunch  03 trailing_overpunch  04 leading_separate  05 trailing_separate",
)
END = names("DW_END_", "00 default  01 big  02 little")
ACCESS = names("DW_ACCESS_", "01 public  02 protected  03 private")
VIS = names("DW_VIS_", "01 local  02 exported  03 qualified")
VIRTUALITY = names("DW_VIRTUALITY_", "00 none  01 virtual  02 pure_virtual")
ID = names("DW_ID_", "00 case_sensitive  01 up_case  02 down_case  03 case_insensitive")
INL = names("DW_INL_", "00 not_inlined  01 inlined  02 declared_not_inlined  03 declared_inlined")
ORD = names("DW_ORD_", "00 row_major  01 col_major")
DEFAULTED = names("DW_DEFAULTED_", "00 no  01 in_class  02 out_of_class")
MSPACE = names("DW_MSPACE_LLVM_", "00 none  01 global  02 constant  03 group  04 private")

VALUES: dict[str, dict[int, str]] = {
    "DW_AT_accessibility": ACCESS,
    "DW_AT_calling_convention": CC,
    "DW_AT_decimal_sign": DS,
    "DW_AT_defaulted": DEFAULTED,
    "DW_AT_encoding": ATE,
    "DW_AT_endianity": END,
    "DW_AT_identifier_case": ID,
    "DW_AT_inline": INL,
    "DW_AT_language": LANG,
    "DW_AT_language_name": LNAME,
    "DW_AT_LLVM_memory_space": MSPACE,
    "DW_AT_ordering": ORD,
    "DW_AT_virtuality": VIRTUALITY,
    "DW_AT_visibility": VIS,
}
"""The attributes of class constant whose values have names."""
