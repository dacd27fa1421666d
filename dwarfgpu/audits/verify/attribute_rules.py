"""Rules for attributes and entries: classes of values, owners, parents, children, and targets of references."""

from __future__ import annotations

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.program.types.reader import TYPES

# --- Classes (DWARF 5, table 7.5) -------------------------------------------------------------------------------------

# In addition to the table: DW_AT_default_value of DWARF 5, 4.1 item 9, and DWARF 4; the index that clang writes for
# DW_AT_object_pointer (DWARF 6, 230119.1).
_CLASSES = """
address: low_pc call_return_pc call_pc
address constant: high_pc entry_pc
address flag reference string: trampoline
addrptr: addr_base
block constant string: const_value
block: discr_list
constant exprloc reference: allocated associated bit_offset bit_size bit_stride byte_size byte_stride count
constant exprloc reference: lower_bound upper_bound rank
constant exprloc loclist: data_member_location
constant: accessibility address_class alignment binary_scale bit_offset calling_convention call_column call_file
constant: call_line data_bit_offset decimal_scale decimal_sign decl_column decl_file decl_line defaulted
constant: digit_count encoding endianity identifier_case inline language ordering start_scope string_length_bit_size
constant: string_length_byte_size virtuality visibility dwo_id
exprloc loclist: frame_base return_addr segment static_link use_location vtable_elem_location
exprloc: call_data_location call_data_value call_target call_target_clobbered call_value data_location
exprloc loclist: location
exprloc loclist constant reference: string_length
flag: artificial call_all_calls call_all_source_calls call_all_tail_calls call_tail_call const_expr declaration deleted
flag: elemental enum_class explicit export_symbols external is_optional main_subprogram mutable noreturn prototyped pure
flag: recursive rvalue_reference threads_scaled use_UTF8 variable_parameter reference
lineptr: stmt_list
loclistsptr: loclists_base
macptr: macro_info macros
reference: abstract_origin base_types call_origin call_parameter common_reference containing_type discr extension
reference: friend import namelist_item object_pointer priority sibling small specification type signature
constant block: discr_value
constant block flag reference string: default_value
constant: object_pointer
rnglist: ranges start_scope
rnglistsptr: rnglists_base
string: comp_dir description dwo_name linkage_name name picture_string producer
stroffsetsptr: str_offsets_base
"""


def _by_attribute(text: str) -> dict[str, frozenset[str]]:
    """Return, for each attribute, the words of all lines that name it."""
    found: dict[str, frozenset[str]] = {}
    for line in text.strip().splitlines():
        words, _, names = line.partition(": ")
        for name in names.split():
            found[f"DW_AT_{name}"] = found.get(f"DW_AT_{name}", frozenset()) | {*words.split()}
    return found


CLASSES: dict[str, frozenset[str]] = {
    **_by_attribute(_CLASSES),
    # A.2.2, A.3.3.5, A.5
    "DW_AT_LLVM_lanes": frozenset(("constant",)),
    "DW_AT_LLVM_vector_size": frozenset(("constant",)),
    "DW_AT_LLVM_address_space": frozenset(("constant",)),
    "DW_AT_LLVM_memory_space": frozenset(("constant",)),
    "DW_AT_LLVM_augmentation": frozenset(("string",)),
    "DW_AT_LLVM_lane_pc": frozenset(("exprloc", "loclist")),
    "DW_AT_LLVM_active_lane": frozenset(("exprloc", "loclist")),
    "DW_AT_LLVM_iterations": frozenset(("constant", "exprloc", "loclist")),
}

# --- Forms (DWARF 5, table 7.6) ---------------------------------------------------------------------------------------

FORM_VERSIONS = {
    **dict.fromkeys(dw.numbers("DW_FORM", "sec_offset exprloc flag_present ref_sig8"), 4),
    **dict.fromkeys(
        dw.numbers(
            "DW_FORM",
            "strx strx1 strx2 strx3 strx4 addrx addrx1 addrx2 addrx3 addrx4 line_strp strp_sup ref_sup4 ref_sup8 "
            "loclistx rnglistx data16 implicit_const",
        ),
        5,
    ),
}
"""For each form that is newer than DWARF 2, the version that introduced it."""

# --- Entries ----------------------------------------------------------------------------------------------------------

_CODE = frozenset((dw.DW_TAG_subprogram, dw.DW_TAG_inlined_subroutine, dw.DW_TAG_entry_point))
POINTERS = frozenset((dw.DW_TAG_pointer_type, dw.DW_TAG_reference_type, dw.DW_TAG_rvalue_reference_type))
_OBJECTS = frozenset((dw.DW_TAG_variable, dw.DW_TAG_formal_parameter, dw.DW_TAG_constant))
UNIT_TAGS = {
    dw.DW_UT_compile: dw.DW_TAG_compile_unit,
    dw.DW_UT_type: dw.DW_TAG_type_unit,
    dw.DW_UT_partial: dw.DW_TAG_partial_unit,
    dw.DW_UT_skeleton: dw.DW_TAG_skeleton_unit,
    dw.DW_UT_split_compile: dw.DW_TAG_compile_unit,
    dw.DW_UT_split_type: dw.DW_TAG_type_unit,
}
"""The tag of a unit's entry, by the type of the unit (DWARF 5, 7.5.1)."""
UNITS = frozenset(UNIT_TAGS.values())

SINGLE = {
    "DW_AT_return_addr": "A.3.3.5 (1)",
    "DW_AT_frame_base": "A.3.3.5 (2)",
    "DW_AT_static_link": "A.3.3.5 (3)",
    "DW_AT_LLVM_lane_pc": "A.3.3.5 (5)",
    "DW_AT_LLVM_active_lane": "A.3.3.5 (6)",
}
"""Attributes that may have only one location description at each address, and the clauses that say so."""

OWNERS: dict[str, tuple[frozenset[int], str]] = {
    **dict.fromkeys(("DW_AT_LLVM_lanes", "DW_AT_LLVM_lane_pc", "DW_AT_LLVM_active_lane", "DW_AT_LLVM_iterations"),
                    (_CODE, "A.3.3.5")),
    "DW_AT_LLVM_vector_size": (frozenset((dw.DW_TAG_base_type,)), "A.5.1"),
    "DW_AT_LLVM_address_space": (POINTERS | {dw.DW_TAG_base_type}, "A.5.3"),
    "DW_AT_LLVM_memory_space": (POINTERS | _OBJECTS, "A.2.14"),
    "DW_AT_LLVM_augmentation": (UNITS, "A.3.1.1"),
    "DW_AT_frame_base": (frozenset((dw.DW_TAG_subprogram, dw.DW_TAG_entry_point)), SINGLE["DW_AT_frame_base"]),
    "DW_AT_encoding": (
        frozenset((dw.DW_TAG_base_type, dw.DW_TAG_string_type, dw.DW_TAG_enumeration_type)), "DWARF 5, 5.1",
    ),
    "DW_AT_stmt_list": (UNITS, "DWARF 5, 3.1.1"),
    "DW_AT_comp_dir": (UNITS, "DWARF 5, 3.1.1"),
    **dict.fromkeys(("DW_AT_addr_base", "DW_AT_str_offsets_base", "DW_AT_rnglists_base", "DW_AT_loclists_base"),
                    (UNITS, "DWARF 5, 3.1.1")),
}  # fmt: skip
"""The tags of the entries that may have an attribute, and the clause that says so."""
_MEANT = """
array_type: ordering rank
array_type atomic_type call_site call_site_parameter coarray_type const_type constant dynamic_type entry_point: type
enumeration_type file_type formal_parameter generic_subrange immutable_type inheritance member packed_type: type
pointer_type ptr_to_member_type reference_type restrict_type rvalue_reference_type set_type shared_type: type
string_type subprogram subrange_type subroutine_type template_alias template_type_parameter: type
template_value_parameter thrown_type typedef unspecified_type variable variant_part volatile_type: type
array_type base_type class_type coarray_type enumeration_type file_type generic_subrange interface_type: byte_size
member packed_type pointer_type ptr_to_member_type reference_type rvalue_reference_type set_type: byte_size
string_type structure_type subrange_type subroutine_type typedef union_type unspecified_type: byte_size
base_type: binary_scale decimal_scale decimal_sign digit_count picture_string small
base_type member: data_bit_offset
call_site: call_origin call_pc call_return_pc call_tail_call call_target call_target_clobbered
call_site inlined_subroutine: call_column call_file call_line
call_site_parameter: call_data_location call_data_value call_parameter call_value
call_site_parameter common_block constant dwarf_procedure formal_parameter template_value_parameter: location
variable with_stmt: location
class_type interface_type ptr_to_member_type structure_type subprogram: containing_type
class_type enumeration_type namespace structure_type union_type: export_symbols
class_type structure_type subprogram subroutine_type union_type: calling_convention
common_inclusion: common_reference
catch_block entry_point try_block with_stmt: entry_pc high_pc
compile_unit inlined_subroutine lexical_block module partial_unit skeleton_unit subprogram: entry_pc high_pc
compile_unit partial_unit skeleton_unit type_unit: dwo_name identifier_case language macro_info macros producer use_UTF8
compile_unit partial_unit subprogram: main_subprogram
constant enumerator formal_parameter member template_value_parameter variable: const_value
entry_point inlined_subroutine subprogram: call_all_calls call_all_source_calls call_all_tail_calls return_addr
entry_point inlined_subroutine subprogram: static_link trampoline
enumeration_type: enum_class
formal_parameter: is_optional variable_parameter
formal_parameter template_type_parameter template_value_parameter: default_value
friend: friend
generic_subrange subrange_type: count lower_bound upper_bound
imported_declaration imported_module imported_unit: import
inheritance member: data_member_location
inheritance subprogram: virtuality
inlined_subroutine subprogram subroutine_type: object_pointer
member: mutable
member subprogram variable: inline
namelist_item: namelist_item
namespace: extension
ptr_to_member_type: use_location
string_type: string_length string_length_bit_size string_length_byte_size
subprogram: defaulted deleted explicit vtable_elem_location
subprogram subroutine_type: elemental noreturn prototyped pure recursive reference rvalue_reference
variant: discr_list discr_value
variant_part: discr
"""
MEANT = {name: dw.numbers("DW_TAG", " ".join(tags)) for name, tags in _by_attribute(_MEANT).items()}
"""The tags with which the standard or a known compiler uses an attribute; appendix A does not forbid others."""
SPACE_OF_BASE_TYPE = "A.5.1 (2)"
"""The clause that allows an address space for a base type only if its encoding is DW_ATE_address."""

REQUIRED: dict[int, tuple[tuple[tuple[str, ...], ...], str]] = {
    dw.DW_TAG_base_type: ((("DW_AT_byte_size", "DW_AT_bit_size"), ("DW_AT_encoding",)), "DWARF 5, 5.1"),
    dw.DW_TAG_inlined_subroutine: ((("DW_AT_abstract_origin",),), "DWARF 5, 3.3.8.2"),
    dw.DW_TAG_imported_declaration: ((("DW_AT_import",),), "DWARF 5, 3.2.3"),
    dw.DW_TAG_imported_module: ((("DW_AT_import",),), "DWARF 5, 3.2.4"),
    dw.DW_TAG_imported_unit: ((("DW_AT_import",),), "DWARF 5, 3.2.5"),
    dw.DW_TAG_inheritance: ((("DW_AT_type",),), "DWARF 5, 5.7.3"),
    dw.DW_TAG_member: ((("DW_AT_type",),), "DWARF 5, 5.7.6"),
    dw.DW_TAG_variable: ((("DW_AT_type",),), "DWARF 5, 4.1"),
    dw.DW_TAG_formal_parameter: ((("DW_AT_type",),), "DWARF 5, 4.1"),
    dw.DW_TAG_array_type: ((("DW_AT_type",),), "DWARF 5, 5.5"),
    dw.DW_TAG_ptr_to_member_type: ((("DW_AT_type",), ("DW_AT_containing_type",)), "DWARF 5, 5.14"),
    dw.DW_TAG_enumerator: ((("DW_AT_name",), ("DW_AT_const_value",)), "DWARF 5, 5.10"),
    dw.DW_TAG_call_site_parameter: ((("DW_AT_location", "DW_AT_call_parameter"),), "DWARF 5, 3.4.2"),
}
"""Groups of attributes, by tag: an entry must have an attribute of each group. Also the clause that says so."""

_STRUCTURES = frozenset((
    *(dw.DW_TAG_structure_type, dw.DW_TAG_class_type, dw.DW_TAG_union_type, dw.DW_TAG_interface_type),
    *(dw.DW_TAG_variant, dw.DW_TAG_variant_part),
))  # fmt: skip
_BLOCKS = _CODE | {
    *(dw.DW_TAG_lexical_block, dw.DW_TAG_try_block, dw.DW_TAG_catch_block, dw.DW_TAG_with_stmt, dw.DW_TAG_common_block)
}

PARENTS: dict[int, tuple[frozenset[int], str]] = {
    dw.DW_TAG_enumerator: (frozenset((dw.DW_TAG_enumeration_type,)), "DWARF 5, 5.10"),
    dw.DW_TAG_inheritance: (_STRUCTURES, "DWARF 5, 5.7.3"),
    dw.DW_TAG_subrange_type: (
        frozenset((
            *(dw.DW_TAG_array_type, dw.DW_TAG_coarray_type, dw.DW_TAG_enumeration_type, dw.DW_TAG_generic_subrange),
            dw.DW_TAG_string_type,  # gfortran's arrays of strings
            *UNITS, *_STRUCTURES, *_BLOCKS, dw.DW_TAG_namespace, dw.DW_TAG_module,
        )),
        "DWARF 5, 5.13",
    ),
    dw.DW_TAG_generic_subrange: (frozenset((dw.DW_TAG_array_type,)), "DWARF 5, 5.13"),
    dw.DW_TAG_inlined_subroutine: (_BLOCKS, "DWARF 5, 3.3.8.2"),
    dw.DW_TAG_call_site: (_BLOCKS, "DWARF 5, 3.4.1"),
    dw.DW_TAG_call_site_parameter: (frozenset((dw.DW_TAG_call_site, dw.DW_TAG_GNU_call_site)), "DWARF 5, 3.4.2"),
    dw.DW_TAG_formal_parameter: (
        _CODE | {
            *(dw.DW_TAG_subroutine_type, dw.DW_TAG_lexical_block, dw.DW_TAG_catch_block, dw.DW_TAG_try_block),
            *(dw.DW_TAG_GNU_formal_parameter_pack, dw.DW_TAG_call_site, dw.DW_TAG_template_type_parameter),
        },
        "DWARF 5, 4.1",
    ),
    dw.DW_TAG_unspecified_parameters: (
        _CODE | {dw.DW_TAG_subroutine_type, dw.DW_TAG_catch_block},
        "DWARF 5, 3.3.4",
    ),
    dw.DW_TAG_lexical_block: (_BLOCKS, "DWARF 5, 3.5"),
    dw.DW_TAG_label: (_BLOCKS, "DWARF 5, 3.6"),
    dw.DW_TAG_member: (_STRUCTURES, "DWARF 5, 5.7.6"),
    **dict.fromkeys(
        (dw.DW_TAG_template_type_parameter, dw.DW_TAG_template_value_parameter),
        (
            _STRUCTURES | {
                *(dw.DW_TAG_subprogram, dw.DW_TAG_variable, dw.DW_TAG_template_alias, dw.DW_TAG_typedef),
                *(dw.DW_TAG_GNU_template_parameter_pack, dw.DW_TAG_enumeration_type),
            },
            "DWARF 5, 2.23",
        ),
    ),
    dw.DW_TAG_friend: (_STRUCTURES, "DWARF 5, 5.7.5"),
    dw.DW_TAG_access_declaration: (_STRUCTURES, "DWARF 5, 5.7.4"),
    dw.DW_TAG_variant_part: (_STRUCTURES, "DWARF 5, 5.7.10"),
    dw.DW_TAG_namelist_item: (frozenset((dw.DW_TAG_namelist,)), "DWARF 5, 4.3"),
    dw.DW_TAG_thrown_type: (frozenset((dw.DW_TAG_subprogram, dw.DW_TAG_subroutine_type)), "DWARF 5, 3.3.7"),
    dw.DW_TAG_try_block: (_BLOCKS, "DWARF 5, 3.8"),
    dw.DW_TAG_catch_block: (_BLOCKS, "DWARF 5, 3.8"),
    dw.DW_TAG_with_stmt: (_BLOCKS, "DWARF 5, 3.7"),
    dw.DW_TAG_variant: (frozenset((dw.DW_TAG_variant_part,)), "DWARF 5, 5.7.10"),
    dw.DW_TAG_compile_unit: (frozenset(), "DWARF 5, 3.1.1"),
    dw.DW_TAG_type_unit: (frozenset(), "DWARF 5, 3.1.4"),
}  # fmt: skip
"""The tags that an entry's parent may have, and the clause that says so. Entries not listed may be anywhere."""

_PARAMETERS = frozenset((dw.DW_TAG_formal_parameter, dw.DW_TAG_unspecified_parameters))
_LEAVES = POINTERS | {
    *(dw.DW_TAG_base_type, dw.DW_TAG_unspecified_type, dw.DW_TAG_const_type, dw.DW_TAG_volatile_type),
    *(dw.DW_TAG_restrict_type, dw.DW_TAG_atomic_type, dw.DW_TAG_ptr_to_member_type, dw.DW_TAG_subrange_type),
    *(dw.DW_TAG_member, dw.DW_TAG_inheritance, dw.DW_TAG_enumerator, dw.DW_TAG_imported_declaration),
    *(dw.DW_TAG_imported_module, dw.DW_TAG_imported_unit, dw.DW_TAG_template_type_parameter),
    *(dw.DW_TAG_template_value_parameter, dw.DW_TAG_unspecified_parameters, dw.DW_TAG_label, dw.DW_TAG_friend),
}
CHILDREN: dict[int, tuple[frozenset[int], str]] = {
    **dict.fromkeys(_LEAVES, (frozenset(), "DWARF 5, 2.3")),
    dw.DW_TAG_array_type: (
        frozenset((dw.DW_TAG_subrange_type, dw.DW_TAG_generic_subrange, dw.DW_TAG_enumeration_type)),
        "DWARF 5, 5.5",
    ),
    dw.DW_TAG_enumeration_type: (frozenset((dw.DW_TAG_enumerator, dw.DW_TAG_subprogram)), "DWARF 5, 5.10"),
    dw.DW_TAG_subroutine_type: (_PARAMETERS | {dw.DW_TAG_thrown_type}, "DWARF 5, 5.9"),
    dw.DW_TAG_call_site: (frozenset((dw.DW_TAG_call_site_parameter,)), "DWARF 5, 3.4.2"),
}
"""The tags that an entry's children may have, and the clause. Entries not listed may have any children."""

_FUNCTIONS = frozenset((dw.DW_TAG_subprogram, dw.DW_TAG_subroutine_type))
_ALIASES = frozenset((
    *(dw.DW_TAG_typedef, dw.DW_TAG_template_alias, dw.DW_TAG_const_type, dw.DW_TAG_volatile_type),
    dw.DW_TAG_atomic_type,
))  # fmt: skip
_CLASSES_OF_OBJECTS = _ALIASES | {
    *(dw.DW_TAG_structure_type, dw.DW_TAG_class_type, dw.DW_TAG_union_type, dw.DW_TAG_interface_type)
}
_DISCRETE = _ALIASES | {dw.DW_TAG_base_type, dw.DW_TAG_enumeration_type, dw.DW_TAG_subrange_type}
_VALUES = _OBJECTS | {dw.DW_TAG_member, dw.DW_TAG_dwarf_procedure, dw.DW_TAG_enumerator}
_IMPORTED = TYPES | {
    *(dw.DW_TAG_subprogram, dw.DW_TAG_variable, dw.DW_TAG_constant, dw.DW_TAG_enumerator, dw.DW_TAG_namespace),
    *(dw.DW_TAG_module, dw.DW_TAG_member, dw.DW_TAG_namelist, dw.DW_TAG_common_block),
    *(dw.DW_TAG_imported_declaration, dw.DW_TAG_entry_point, dw.DW_TAG_subrange_type, dw.DW_TAG_subroutine_type),
}
_CLASSES_COMPLETED = frozenset((dw.DW_TAG_structure_type, dw.DW_TAG_class_type))
SAME = None
REFERENCES: dict[int | tuple[int, int], tuple[frozenset[int] | None, str]] = {
    dw.DW_AT_type: (TYPES | {dw.DW_TAG_subroutine_type, dw.DW_TAG_subrange_type, dw.DW_TAG_thrown_type,
                             dw.DW_TAG_generic_subrange, dw.DW_TAG_namelist},
                    "DWARF 5, 2.8"),
    (dw.DW_AT_type, dw.DW_TAG_inheritance): (_CLASSES_OF_OBJECTS, "DWARF 5, 5.7.3"),
    (dw.DW_AT_type, dw.DW_TAG_enumeration_type): (_DISCRETE, "DWARF 5, 5.10"),
    (dw.DW_AT_type, dw.DW_TAG_subrange_type): (_DISCRETE, "DWARF 5, 5.13"),
    (dw.DW_AT_type, dw.DW_TAG_set_type): (_DISCRETE, "DWARF 5, 5.12"),
    dw.DW_AT_containing_type: (TYPES, "DWARF 5, 5.14"),
    **{(dw.DW_AT_containing_type, tag): (_CLASSES_OF_OBJECTS, clause)
       for tag, clause in ((dw.DW_TAG_ptr_to_member_type, "DWARF 5, 5.14"), (dw.DW_TAG_subprogram, "DWARF 5, 5.7.8"),
                           (dw.DW_TAG_class_type, "DWARF 5, 5.7.1"))},
    dw.DW_AT_abstract_origin: (SAME, "DWARF 5, 3.3.8.2"),
    **{(dw.DW_AT_abstract_origin, tag): (frozenset(tags), "DWARF 5, 3.3.8.2") for tag, tags in (
        (dw.DW_TAG_inlined_subroutine, {dw.DW_TAG_subprogram}), (dw.DW_TAG_GNU_call_site, {dw.DW_TAG_subprogram}),
        (dw.DW_TAG_GNU_call_site_parameter, {dw.DW_TAG_formal_parameter}),
        (dw.DW_TAG_formal_parameter, {dw.DW_TAG_formal_parameter, dw.DW_TAG_GNU_formal_parameter_pack}),
        (dw.DW_TAG_variable, _OBJECTS))},  # GCC turns parameters into variables
    dw.DW_AT_specification: (SAME, "DWARF 5, 2.13.2"),
    **{(dw.DW_AT_specification, tag): (frozenset(tags), "DWARF 5, 2.13.2") for tag, tags in (
        (dw.DW_TAG_variable, {dw.DW_TAG_variable, dw.DW_TAG_member}), (dw.DW_TAG_class_type, _CLASSES_COMPLETED),
        (dw.DW_TAG_structure_type, _CLASSES_COMPLETED))},
    dw.DW_AT_object_pointer: (frozenset((dw.DW_TAG_formal_parameter, dw.DW_TAG_variable)), "DWARF 5, 5.7.8"),
    dw.DW_AT_call_origin: (frozenset((*_FUNCTIONS, dw.DW_TAG_inlined_subroutine, dw.DW_TAG_entry_point)),
                           "DWARF 5, 3.4.1"),
    dw.DW_AT_call_parameter: (_OBJECTS, "DWARF 5, 3.4.2"),
    dw.DW_AT_friend: (_CLASSES_OF_OBJECTS | {dw.DW_TAG_subprogram}, "DWARF 5, 5.7.5"),
    dw.DW_AT_discr: (frozenset((dw.DW_TAG_member,)), "DWARF 5, 5.7.10"),
    dw.DW_AT_namelist_item: (_VALUES, "DWARF 5, 4.3"),
    dw.DW_AT_common_reference: (frozenset((dw.DW_TAG_common_block,)), "DWARF 5, 4.2"),
    dw.DW_AT_extension: (frozenset((dw.DW_TAG_namespace,)), "DWARF 5, 3.2.2"),
    (dw.DW_AT_import, dw.DW_TAG_imported_declaration): (_IMPORTED, "DWARF 5, 3.2.3"),
    (dw.DW_AT_import, dw.DW_TAG_imported_module): (frozenset((dw.DW_TAG_module, dw.DW_TAG_namespace)),
                                                   "DWARF 5, 3.2.4"),
    (dw.DW_AT_import, dw.DW_TAG_imported_unit): (UNITS, "DWARF 5, 3.2.5"),
    **dict.fromkeys(dw.numbers("DW_AT", "upper_bound lower_bound count byte_size bit_size byte_stride bit_stride "
                                        "allocated associated string_length rank"), (_VALUES, "DWARF 5, 2.19")),
}  # fmt: skip
"""The tags that the target of a reference may have, and the clause, by attribute, or by attribute and tag of the
referring entry. None: only the same tag as the referring entry."""


def wanted_of(attribute: int, own: int) -> tuple[frozenset[int] | None, str]:
    """Return the tags that the target may have (None: the same tag, empty: any), and the clause."""
    return REFERENCES.get((attribute, own)) or REFERENCES.get(attribute, (frozenset(), ""))


def needed_of(attribute: int, own: int) -> tuple[int, bool, str] | None:
    """Return an attribute that the target must (True) or must not (False) have, and the clause; None without a rule."""
    if attribute == dw.DW_AT_specification:
        return dw.DW_AT_declaration, True, "DWARF 5, 2.13.2"
    if attribute != dw.DW_AT_abstract_origin or own == dw.DW_TAG_GNU_call_site:
        return None
    is_call = own == dw.DW_TAG_inlined_subroutine
    return (dw.DW_AT_inline if is_call else dw.DW_AT_abstract_origin), is_call, "DWARF 5, 3.3.8.1"
