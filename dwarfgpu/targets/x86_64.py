"""x86-64: the System V psABI (AMD64 Architecture Processor Supplement, version 1.0).

Numbers: figure "DWARF Register Number Mapping" (3.36). Sizes: the Intel 64 registers themselves; an ``xmm`` register is
its 128 bits, although the same numbers serve ``ymm`` and ``zmm``. Preserved registers: figure "Register Usage" (3.4).
"""

from __future__ import annotations

from dwarfgpu.targets.target import AddressSpace, RegisterFamily, Scope, Target

GENERAL = ("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp")
SEGMENTS = ("es", "cs", "ss", "ds", "fs", "gs")

FAMILIES = (
    #              first count prefix  bits
    RegisterFamily(0, 8, "", 64, names=GENERAL),
    RegisterFamily(8, 8, "r", 64, index=8),
    RegisterFamily(16, 1, "rip", 64, index=None, other="pc"),  # "Return Address RA"
    RegisterFamily(17, 16, "xmm", 128),
    RegisterFamily(33, 8, "st", 80),
    RegisterFamily(41, 8, "mm", 64),
    RegisterFamily(49, 1, "rflags", 64, index=None, other="eflags"),
    RegisterFamily(50, 6, "", 16, names=SEGMENTS),
    # 56 and 57 are reserved
    RegisterFamily(58, 2, "", 64, names=("fs.base", "gs.base")),
    # 60 and 61 are reserved
    RegisterFamily(62, 2, "", 16, names=("tr", "ldtr")),
    RegisterFamily(64, 1, "mxcsr", 32, index=None),
    RegisterFamily(65, 2, "", 16, names=("fcw", "fsw")),
    RegisterFamily(67, 16, "xmm", 128, index=16),
    # 83 to 117 are reserved
    RegisterFamily(118, 8, "k", 64),
    RegisterFamily(126, 4, "bnd", 128),
    # Intel APX, psABI of 2023 and later
    RegisterFamily(130, 16, "r", 64, index=16),
)

# "Preserved across function calls: Yes": rbx, rsp, rbp, r12 to r15 and the x87 control word. Of mxcsr only the control
# bits are preserved, so the register as a whole is not. rsp is the stack pointer below.
SAME_VALUE = ((3, 3), (6, 6), (12, 15), (65, 65))

X86_64 = Target(
    name="x86_64",
    byte_order="little",
    address_size=8,
    lane_count=1,
    default_dialect="gnu",
    default_rules="dwarf5",
    families=FAMILIES,
    address_spaces=(AddressSpace(0, "default", 64, 0, Scope.PROCESS),),
    same_value=SAME_VALUE,
    stack_pointer=7,
    grows_down=True,  # "grows downwards from high addresses" (psABI 3.2.2)
    entry_cfa=8,  # a call pushes the return address (psABI 3.2.2)
    program_counter=16,
    thread_pointer=58,  # "the %fs segment register is used to implement the thread pointer" (psABI 3.4.5)
)
