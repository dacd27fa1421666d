"""AMDGPU (``amdgcn``): tables of the "User Guide for AMDGPU Backend" of LLVM, called *AMDGPU usage* below.

The edition of LLVM 22 is followed unless a comment says otherwise; the one of 2020 differs in some rows. Here are the
DWARF numbers of address spaces and registers: the tables "AMDGPU DWARF Address Space Mapping" and "AMDGPU DWARF
Register Mapping".
"""

GLOBAL = 0x00
GENERIC = 0x01
REGION = 0x02
LOCAL = 0x03
# 0x04 is reserved
PRIVATE_LANE = 0x05
PRIVATE_WAVE = 0x06
# 0x07 to 0x1f are reserved
PRIVATE_LANE_0 = 0x20
"""``private_lane<n>`` is ``PRIVATE_LANE_0 + n`` for n < 64. In the edition of 2020; later ones leave it out."""

# 0 is PC_32: amdgcn has only 64-bit process address spaces
EXEC_32 = 1
PC_64 = 16
EXEC_64 = 17
SGPR_0 = 32
STATUS = 128
VCC_32 = 512
VCC_64 = 768
SGPR_64 = 1088
VGPR_32 = 1536
AGPR_32 = 2048
VGPR_64 = 2560
AGPR_64 = 3072
VGPR_32_512 = 3584
"""``v512`` of wave 32: the second block, for processors with 1024 vector registers."""
