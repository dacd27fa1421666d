"""Every difference between dwarfgpu and llvm-dwarfdump on the files in fixtures/, by name.

README.md in this folder explains each in a section of the same name, and says which text decides.
"""

import fnmatch
import re
from typing import NamedTuple

from tests.comparison.rows import Difference

SECTIONS = "(?:expressions|lists|list sections)"
"""The aspects that have expressions."""


class Explained(NamedTuple):
    """One kind of difference."""

    name: str
    """That of the section in README.md."""
    fixtures: tuple[str, ...]
    """Patterns of file names. Each must have the difference."""
    pattern: str
    """What a difference looks like: ``ASPECT | WHERE | THEIRS => OURS``, where None is a row that is not there."""
    spec: str
    """The text that says who is right."""

    def explains(self, fixture: str, difference: Difference) -> bool:
        """Whether a difference in a fixture is of this kind."""
        return any(fnmatch.fnmatch(fixture, each) for each in self.fixtures) and self.matches(difference)

    def matches(self, difference: Difference) -> bool:
        """Whether a difference, in whatever file, looks like one of this kind."""
        return re.fullmatch(self.pattern, str(difference), re.DOTALL) is not None


TYPED = (
    "const_type deref_type xderef_type reinterpret GNU_uninit GNU_encoded_addr GNU_const_type GNU_regval_type"
    " GNU_deref_type GNU_convert GNU_reinterpret GNU_parameter_ref GNU_variable_value"
)
OLD_LLVM = (
    "(?:DW_AT_LLVM_ptrauth_isa_pointer|DW_AT_LLVM_ptrauth_authenticates_null_values"
    "|DW_AT_LLVM_ptrauth_authentication_mode|DW_AT_LLVM_num_extra_inhabitants|DW_AT_LLVM_stmt_sequence)"
)
OLD_OURS = (
    "(?:DW_AT_LLVM_active_lane|DW_AT_LLVM_augmentation|DW_AT_LLVM_lanes|DW_AT_LLVM_lane_pc"
    "|DW_AT_LLVM_vector_size|DW_AT_LLVM_iterations)"
)
DIFFERENCES = (
    Explained("operations-not-decoded", ("asm/operations*", "asm/lane-pc*", "host/*.gcc.O?.v?.x86_64"),
        rf"{SECTIONS} \| .* \| (?P<same>.*)<.*> => (?P=same)DW_OP_(?:{TYPED.replace(' ', '|')})\b.*",
        "DWARF 5, 7.7.1; GNU extensions"),
    Explained("call-ref-in-a-list-section", ("asm/lane-pc*",),
        r"list sections \| .* \| (?P<same>.*)<9a .*> => (?P=same)DW_OP_call_ref \d+.*", "DWARF 5, 7.7.3"),
    Explained(
        "lists-of-lane-attributes", ("asm/lane-pc.*",), r"lists \| \S+ DW_AT_LLVM_lane_pc #\d+ \| None => .*", "A.3.3.5"
    ),
    Explained("names-of-memory-spaces", ("asm/types.*",),
        r"dies \| \S+ DW_AT_LLVM_memory_space \| (?P<form>DW_FORM_\w+) 0x\d+ => (?P=form) DW_MSPACE_LLVM_\w+",
        "A.7.15"),
    Explained("supplementary-files", ("asm/forms*",),
        r"dies \| .* \| (?P<form>DW_FORM_(?:strp_sup|ref_sup[48])) \? => (?P=form) 0x[0-9a-f]+", "DWARF 5, 7.5.5"),
    Explained("files-defined-by-the-program", ("asm/lines.*",),
        r'lines \| \.debug_line\+0xbf file 3 \| None => "new" directory=1', "DWARF 4, 6.2.5.3"),
    Explained("unit-version-6", ("features/plain.v6.co",), r".* \| (?:None|\?) => .*", "DWARF 6 drafts, 7.5.1"),
    Explained("sections-called-zdebug", ("features/zdebug.v4.co", "host/zdebug.gcc.v4.x86_64"), r".* \| None => .*",
        "binutils, compressed debug sections"),
    Explained("relocations-of-x32", ("host/optimized.clang.O0.v5.x32.o",), r".*", "x86-64 ABI, 4.4"),
    Explained("signed-displacement", ("asm/host.x86_64",),
        r"expressions \| .* \| (?P<same>.*DW_OP_LLVM_aspace_bregx \d+) \d+(?P<rest>.*) => (?P=same) -\d+(?P=rest)",
        "A.2.5.4.4.3 (9)"),
    Explained(
        "relocated-expressions",
        ("*.o",),
        rf"{SECTIONS} \| .* \| (?P<before>.*?)(?P<operation>DW_OP_\w+) 0(?P<after>\b.*)"
        r" => (?P=before)(?P=operation) \d+(?P=after)",
        "DWARF 5, 7.3.1",
    ),
    Explained("attribute-numbers", ("asm/lane-pc-legacy*", "asm/lane-pc-old-numbers*"),
        rf"(?:dies|lists) \| \S+ (?:{OLD_LLVM}\b.* => None|{OLD_OURS}\b.* \| None => .*)", "A.7.5.4"),
    Explained("digest-that-is-none", ("asm/lines.*",),
        r"lines \| .* file \d+ \| (?P<a>.*) md5=0{32}(?P<b>.*) => (?P=a)(?P=b)", "A.6.2.4.1"),
    Explained("file-names-of-type-units", ("host/types.gcc.v5.x86_64",),
        r'dies \| \S+ DW_AT_decl_file \| (?P<form>\S+) "(?P<name>\S+)" => (?P=form) "\./(?P=name)"',
        "DWARF 5, 6.2.4 (16)"),
    Explained(
        "ranges-of-a-split-unit-alone",
        ("features/split.v5.dw?", "features/two-units.v5.dwp", "host/split.gcc.v5.dwo"),
        r"lists \| .* DW_AT_ranges #\d+ \| (?:0x[0-9a-f]+\.\.0x[0-9a-f]+|None) => (?:DW_RLE_\w+ .*|None)",
        "DWARF 5, 3.1.3",
    ),
    Explained(
        "location-views",
        ("host/*.gcc.*",),
        r"list sections \| \.debug_loc\S* (?:#\d+|error) .*",
        "GCC, -gvariable-location-views"))  # fmt: skip
