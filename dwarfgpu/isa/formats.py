"""The instruction formats of each generation: which bits tell a format, and where its fields are.

A row of the tables below is ``NAME.variant bytes match/mask opcode | operands | bits of operands | modifiers``. A field is ``name=shift:width``;
one that is split has its pieces joined by ``+``, the lowest bits first. Operands and modifiers are listed in the order of the text; which of them an
opcode has is said by its row in the opcode tables. Bits of operands are those of one source: ``neg0`` negates the first. Sources: the chapters
"Microcode Formats" and "Instruction Formats" of AMD's ISA documents (GCN3, Vega, MI200, MI300, RDNA 1 to 4).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

Pieces = tuple[tuple[int, int], ...]
"""Where the bits of a field are: shift and width of each piece, the lowest bits first."""

_SCALAR = """
SOP2 4 80000000/c0000000 23:7 | sdst=16:7 ssrc0=0:8 ssrc1=8:8 | |
SOPK 4 b0000000/f0000000 23:5 | sdst=16:7 simm16=0:16 | |
SOP1 4 be800000/ff800000 8:8 | sdst=16:7 ssrc0=0:8 | |
SOPC 4 bf000000/ff800000 16:7 | ssrc0=0:8 ssrc1=8:8 | |
SOPP 4 bf800000/ff800000 16:7 | simm16=0:16 | |
"""
_VECTOR = """
VOP2 4 00000000/80000000 25:6 | vdst=17:8 src0=0:9 vsrc1=9:8 | |
VOPC 4 7c000000/fe000000 17:8 | src0=0:9 vsrc1=9:8 | |
VOP1 4 7e000000/fe000000 9:8 | vdst=17:8 src0=0:9 | |
"""
_DPP16 = "row_mask=60:4 bank_mask=56:4 bound_ctrl=51:1"
_DPP_BITS = "neg0=52 abs0=53 neg1=54 abs1=55"
_VECTOR_DPP = f"""
VOP2.dpp 8 000000fa/800001ff 25:6 | vdst=17:8 src0=32:8 vsrc1=9:8 | {_DPP_BITS} | dpp_ctrl=40:9 {_DPP16}
VOPC.dpp 8 7c0000fa/fe0001ff 17:8 | src0=32:8 vsrc1=9:8 | {_DPP_BITS} | dpp_ctrl=40:9 {_DPP16}
VOP1.dpp 8 7e0000fa/fe0001ff 9:8 | vdst=17:8 src0=32:8 | {_DPP_BITS} | dpp_ctrl=40:9 {_DPP16}
"""
_VECTOR_DPP_FI = _VECTOR_DPP.replace("bound_ctrl=51:1", "bound_ctrl=51:1 fi=50:1")
_VECTOR_DPP8 = """
VOP2.dpp8 8 000000e9/800001ff 25:6 | vdst=17:8 src0=32:8 vsrc1=9:8 | | dpp8=40:24
VOPC.dpp8 8 7c0000e9/fe0001ff 17:8 | src0=32:8 vsrc1=9:8 | | dpp8=40:24
VOP1.dpp8 8 7e0000e9/fe0001ff 9:8 | vdst=17:8 src0=32:8 | | dpp8=40:24
VOP2.dpp8fi 8 000000ea/800001ff 25:6 | vdst=17:8 src0=32:8 vsrc1=9:8 | | dpp8=40:24
VOPC.dpp8fi 8 7c0000ea/fe0001ff 17:8 | src0=32:8 vsrc1=9:8 | | dpp8=40:24
VOP1.dpp8fi 8 7e0000ea/fe0001ff 9:8 | vdst=17:8 src0=32:8 | | dpp8=40:24
"""
_SDWA_BITS = "sext0=51 neg0=52 abs0=53 sext1=59 neg1=60 abs1=61"
_SDWA_SELECTS = "src0_sel=48:3 src1_sel=56:3"
_VECTOR_SDWA = f"""
VOP2.sdwa 8 000000f9/800001ff 25:6 | vdst=17:8 src0=32:8+55:1 src1=9:8+63:1 | {_SDWA_BITS} | clamp=45:1 omod=46:2 dst_sel=40:3 dst_unused=43:2 {_SDWA_SELECTS}
VOPC.sdwa 8 7c0000f9/fe0001ff 17:8 | sdst=40:8 src0=32:8+55:1 src1=9:8+63:1 | {_SDWA_BITS} | {_SDWA_SELECTS}
VOP1.sdwa 8 7e0000f9/fe0001ff 9:8 | vdst=17:8 src0=32:8+55:1 | {_SDWA_BITS} | clamp=45:1 omod=46:2 dst_sel=40:3 dst_unused=43:2 src0_sel=48:3
"""
_GFX8_SDWA = f"""
VOP2.sdwa 8 000000f9/800001ff 25:6 | vdst=17:8 src0=32:8 vsrc1=9:8 | {_SDWA_BITS} | clamp=45:1 dst_sel=40:3 dst_unused=43:2 {_SDWA_SELECTS}
VOPC.sdwa 8 7c0000f9/fe0001ff 17:8 | src0=32:8 vsrc1=9:8 | {_SDWA_BITS} | clamp=45:1 {_SDWA_SELECTS}
VOP1.sdwa 8 7e0000f9/fe0001ff 9:8 | vdst=17:8 src0=32:8 | {_SDWA_BITS} | clamp=45:1 dst_sel=40:3 dst_unused=43:2 src0_sel=48:3
"""
_SOURCES = "src0=32:9 src1=41:9 src2=50:9"
_VOP3_BITS = "abs0=8 abs1=9 abs2=10 sel0=11 sel1=12 sel2=13 sel3=14 neg0=61 neg1=62 neg2=63"
_VOP3 = f"""
VOP3 8 MATCH/fc000000 16:10 | vdst=0:8 sdst=8:7 {_SOURCES} attr=32:6 attrchan=38:2 | {_VOP3_BITS} | high=40:1 bitop3=61:3+8:3+59:2 byte_sel=12:1+11:1 byte_sel_=13:2 bound_ctrl=12:1 fi=11:1 op_sel=11:4 clamp=15:1 omod=59:2
"""
_PACKED_BITS = "abs0=8 abs1=9 abs2=10 neg0=61 neg1=62 neg2=63"
_PACKED_MODIFIERS = "op_sel=11:3 op_sel_hi=59:2+14:1 neg_lo=61:3 neg_hi=8:3 clamp=15:1"
_VOP3_DPP = f"""
VOP3.dpp 12 d4000000fa/fc000001ff00000000 16:10 | vdst=0:8 sdst=8:7 src0=64:8 src1=41:9 src2=50:9 | {_VOP3_BITS} | bitop3=61:3+8:3+59:2 byte_sel=12:1+11:1 byte_sel_=13:2 op_sel=11:4 clamp=15:1 omod=59:2 dpp_ctrl=72:9 row_mask=92:4 bank_mask=88:4 bound_ctrl=83:1 fi=82:1
VOP3.dpp8 12 d4000000e9/fc000001ff00000000 16:10 | vdst=0:8 sdst=8:7 src0=64:8 src1=41:9 src2=50:9 | {_VOP3_BITS} | bitop3=61:3+8:3+59:2 byte_sel=12:1+11:1 byte_sel_=13:2 op_sel=11:4 clamp=15:1 omod=59:2 dpp8=72:24
VOP3.dpp8fi 12 d4000000ea/fc000001ff00000000 16:10 | vdst=0:8 sdst=8:7 src0=64:8 src1=41:9 src2=50:9 | {_VOP3_BITS} | bitop3=61:3+8:3+59:2 byte_sel=12:1+11:1 byte_sel_=13:2 op_sel=11:4 clamp=15:1 omod=59:2 dpp8=72:24
VOP3P.dpp 12 cc000000fa/ff000001ff00000000 16:8 | vdst=0:8 src0=64:8 src1=41:9 src2=50:9 | {_PACKED_BITS} | {_PACKED_MODIFIERS} dpp_ctrl=72:9 row_mask=92:4 bank_mask=88:4 bound_ctrl=83:1 fi=82:1
VOP3P.dpp8 12 cc000000e9/ff000001ff00000000 16:8 | vdst=0:8 src0=64:8 src1=41:9 src2=50:9 | {_PACKED_BITS} | {_PACKED_MODIFIERS} dpp8=72:24
VOP3P.dpp8fi 12 cc000000ea/ff000001ff00000000 16:8 | vdst=0:8 src0=64:8 src1=41:9 src2=50:9 | {_PACKED_BITS} | {_PACKED_MODIFIERS} dpp8=72:24
"""
_VOP3_DPP = (
    _VOP3_DPP.replace("d4000000fa/", "fad4000000/")
    .replace("d4000000e9/", "e9d4000000/")
    .replace("d4000000ea/", "ead4000000/")
)
_VOP3_DPP = (
    _VOP3_DPP.replace("cc000000fa/", "facc000000/")
    .replace("cc000000e9/", "e9cc000000/")
    .replace("cc000000ea/", "eacc000000/")
)
_VOP3_DPP = _VOP3_DPP.replace("/fc000001ff00000000", "/1fffc000000").replace("/ff000001ff00000000", "/1ffff000000")
_INTERPOLATION = "VINTRP 4 MATCH/fc000000 16:2 | vdst=18:8 vsrc=0:8 attr=10:6 attrchan=8:2 | |\n"
_VINTERP = f"VINTERP 8 cd000000/ff000000 16:7 | vdst=0:8 {_SOURCES} | sel0=11 sel1=12 sel2=13 sel3=14 neg0=61 neg1=62 neg2=63 | clamp=15:1 op_sel=11:4 wait_exp=8:3\n"
_VOPD = """
VOPD.x 8 c8000000/fc000000 22:4 | vdstx=56:8 srcx0=0:9 vsrcx1=9:8 | |
VOPD.y 8 c8000000/fc000000 17:5 | vdsty=56:1+49:7 srcy0=32:9 vsrcy1=41:8 | |
"""
_VECTOR_GFX8 = f"""
SMEM 8 c0000000/fc000000 18:8 | sdata=6:7 sbase=0:6 soffset_=32:7 offset=32:21 soffset=57:7 imm=17:1 soe=14:1 probe=6:7 | | offset=32:21 glc=16:1
VOP3P 8 d3800000/ff800000 16:7 | vdst=0:8 {_SOURCES} | {_PACKED_BITS} acc0=59 acc1=60 acc2=15 acc3=15 | {_PACKED_MODIFIERS} cbsz=8:3 abid=11:4 blgp=61:3
DS 8 d8000000/fc000000 17:8 | vdst=56:8 addr=32:8 data0=40:8 data1=48:8 | acc3=25 acc0=25 acc1=25 | offset=0:16 offset0=0:8 offset1=8:8 gds=16:1
MUBUF 8 e0000000/fc000000 18:7 | vdata=40:8 vaddr=32:8 srsrc=48:5 soffset=56:8 | acc3=55 | idxen=13:1 offen=12:1 offset=0:12 glc=14:1 slc=17:1 scc=15:1 tfe=55:1 lds=16:1
MTBUF 8 e8000000/fc000000 15:4 | vdata=40:8 vaddr=32:8 srsrc=48:5 soffset=56:8 | acc3=55 | format=19:7 idxen=13:1 offen=12:1 offset=0:12 glc=14:1 slc=17:1 scc=53:1 tfe=55:1
MIMG 8 f0000000/fc000000 18:7 | vdata=40:8 vaddr=32:8 srsrc=48:5 ssamp=53:5 | | dmask=8:4 unorm=12:1 glc=13:1 slc=25:1 r128=15:1 tfe=16:1 lwe=17:1 da=14:1 d16=63:1
EXP 8 c4000000/fc000000 11:1 | en=0:4 tgt=4:6 vsrc0=32:8 vsrc1=40:8 vsrc2=48:8 vsrc3=56:8 | | done=11:1 compr=10:1 vm=12:1
FLAT 8 dc000000/fc000000 18:7 | vdst=56:8 addr=32:8 data=40:8 saddr=48:7 segment=14:2 | acc3=55 | offset=0:13 glc=16:1 slc=17:1 scc=25:1 lds=13:1
"""

GENERATIONS: dict[int, str] = {
    8: _SCALAR
    + _VECTOR
    + _VECTOR_DPP
    + _GFX8_SDWA
    + _VOP3.replace("MATCH", "d0000000")
    + _INTERPOLATION.replace("MATCH", "d4000000")
    + _VECTOR_GFX8,
    9: _SCALAR
    + _VECTOR
    + _VECTOR_DPP
    + _VECTOR_SDWA
    + _VOP3.replace("MATCH", "d0000000")
    + _INTERPOLATION.replace("MATCH", "d4000000")
    + _VECTOR_GFX8,
    10: _SCALAR
    + _VECTOR
    + _VECTOR_DPP_FI
    + _VECTOR_DPP8
    + _VECTOR_SDWA
    + _VOP3.replace("MATCH", "d4000000")
    + _INTERPOLATION.replace("MATCH", "c8000000")
    + f"""
SMEM 8 f4000000/fc000000 18:8 | sdata=6:7 sbase=0:6 offset=32:21 soffset=57:7 | | offset=32:21 glc=16:1 dlc=14:1
VOP3P 8 cc000000/ff000000 16:8 | vdst=0:8 {_SOURCES} | {_PACKED_BITS} | {_PACKED_MODIFIERS}
DS 8 d8000000/fc000000 18:8 | vdst=56:8 addr=32:8 data0=40:8 data1=48:8 | | offset=0:16 offset0=0:8 offset1=8:8 gds=17:1
MUBUF 8 e0000000/fc000000 18:8 | vdata=40:8 vaddr=32:8 srsrc=48:5 soffset=56:8 | | idxen=13:1 offen=12:1 offset=0:12 glc=14:1 slc=54:1 dlc=15:1 tfe=55:1 lds=16:1
MTBUF 8 e8000000/fc000000 16:3+53:1 | vdata=40:8 vaddr=32:8 srsrc=48:5 soffset=56:8 | | format=19:7 idxen=13:1 offen=12:1 offset=0:12 glc=14:1 slc=54:1 dlc=15:1 tfe=55:1
MIMG 8 f0000000/fc000000 18:7+0:1 | vdata=40:8 vaddr=32:8 srsrc=48:5 ssamp=53:5 nsa=1:2 | | dmask=8:4 dim=3:3 unorm=12:1 glc=13:1 slc=25:1 dlc=7:1 r128=15:1 a16=62:1 tfe=16:1 lwe=17:1 d16=63:1
EXP 8 f8000000/fc000000 11:1 | en=0:4 tgt=4:6 vsrc0=32:8 vsrc1=40:8 vsrc2=48:8 vsrc3=56:8 | | done=11:1 compr=10:1 vm=12:1
FLAT 8 dc000000/fc000000 18:7 | vdst=56:8 addr=32:8 data=40:8 saddr=48:7 segment=14:2 | | offset=0:12 glc=16:1 slc=17:1 dlc=12:1 lds=13:1
""",
    11: _SCALAR
    + _VECTOR
    + _VECTOR_DPP_FI
    + _VECTOR_DPP8
    + _VOP3.replace("MATCH", "d4000000")
    + _VOP3_DPP
    + _VINTERP
    + _VOPD
    + f"""
SMEM 8 f4000000/fc000000 18:8 | sdata=6:7 sbase=0:6 offset=32:21 soffset=57:7 | | offset=32:21 glc=14:1 dlc=13:1
VOP3P 8 cc000000/ff000000 16:8 | vdst=0:8 {_SOURCES} | {_PACKED_BITS} | {_PACKED_MODIFIERS}
LDSDIR 4 ce000000/ff000000 20:2 | vdst=0:8 attr=10:6 attrchan=8:2 | | wait_vdst=16:4
DS 8 d8000000/fc000000 18:8 | vdst=56:8 addr=32:8 data0=40:8 data1=48:8 | | offset=0:16 offset0=0:8 offset1=8:8 gds=17:1
MUBUF 8 e0000000/fc000000 18:8 | vdata=40:8 vaddr=32:8 srsrc=48:5 soffset=56:8 | | idxen=55:1 offen=54:1 offset=0:12 glc=14:1 slc=12:1 dlc=13:1 tfe=53:1
MTBUF 8 e8000000/fc000000 15:4 | vdata=40:8 vaddr=32:8 srsrc=48:5 soffset=56:8 | | format=19:7 idxen=55:1 offen=54:1 offset=0:12 glc=14:1 slc=12:1 dlc=13:1 tfe=53:1
MIMG 8 f0000000/fc000000 18:8 | vdata=40:8 vaddr=32:8 srsrc=48:5 ssamp=58:5 nsa=0:1 | | dmask=8:4 dim=2:3 unorm=7:1 glc=14:1 slc=12:1 dlc=13:1 r128=15:1 a16=16:1 tfe=53:1 lwe=54:1 d16=17:1
EXP 8 f8000000/fc000000 11:1 | en=0:4 tgt=4:6 vsrc0=32:8 vsrc1=40:8 vsrc2=48:8 vsrc3=56:8 | | done=11:1 row_en=13:1
FLAT 8 dc000000/fc000000 18:7 | vdst=56:8 addr=32:8 data=40:8 saddr=48:7 sve=55:1 segment=16:2 | | offset=0:13 glc=14:1 slc=15:1 dlc=13:1
""",
    12: _SCALAR
    + _VECTOR
    + _VECTOR_DPP_FI
    + _VECTOR_DPP8
    + _VOP3.replace("MATCH", "d4000000")
    + _VOP3_DPP
    + _VINTERP
    + _VOPD
    + f"""
SMEM 8 f4000000/fc000000 13:6 | sdata=6:7 sbase=0:6 offset=32:24 soffset=57:7 | | offset=32:24 scale_offset=56:1 th=23:2 scope=21:2 nv=20:1
VOP3P 8 cc000000/ff000000 16:8 | vdst=0:8 {_SOURCES} | {_PACKED_BITS} | {_PACKED_MODIFIERS}
LDSDIR 4 ce000000/ff000000 20:2 | vdst=0:8 attr=10:6 attrchan=8:2 | | wait_va_vdst=16:4 wait_vm_vsrc=23:1
DS 8 d8000000/fc000000 18:8 | vdst=56:8 addr=32:8 data0=40:8 data1=48:8 | | offset=0:16 offset0=0:8 offset1=8:8
VBUFFER 12 c4000000/fc000000 14:8 | vdata=32:8 vaddr=64:8 srsrc=41:9 soffset=0:7 | | format=55:7 idxen=63:1 offen=62:1 offset=72:24 th=52:3 scope=50:2 nv=7:1 tfe=22:1
VIMAGE 12 d0000000/fc000000 14:8 | vdata=32:8 vaddr=64:8 vaddr1=72:8 vaddr2=80:8 vaddr3=88:8 vaddr4=56:8 srsrc=41:9 | | dmask=22:4 dim=0:3 th=52:3 scope=50:2 nv=7:1 r128=4:1 a16=6:1 tfe=55:1 d16=5:1
VSAMPLE 12 e4000000/fc000000 14:8 | vdata=32:8 vaddr=64:8 vaddr1=72:8 vaddr2=80:8 vaddr3=88:8 srsrc=41:9 ssamp=55:9 | | dmask=22:4 dim=0:3 unorm=13:1 th=52:3 scope=50:2 nv=7:1 r128=4:1 a16=6:1 tfe=3:1 lwe=40:1 d16=5:1
EXP 8 f8000000/fc000000 11:1 | en=0:4 tgt=4:6 vsrc0=32:8 vsrc1=40:8 vsrc2=48:8 vsrc3=56:8 | | done=11:1 row_en=13:1
FLAT 12 ec000000/fc000000 14:8 | vdst=32:8 addr=64:8 data=55:8 saddr=0:7 sve=49:1 segment=24:2 returns=52:1 | | offset=72:24 scale_offset=48:1 th=52:3 scope=50:2 nv=7:1
""",
}
"""The formats of each generation."""


@frozen
class Format:
    """One instruction format, or the variant of one that is extended."""

    name: str
    variant: str
    size: int
    """Its bytes, without a literal."""
    match: int
    mask: int
    opcode: Pieces
    operands: dict[str, Pieces]
    """Fields that operands are made from, in the order of the text."""
    bits: dict[str, int]
    modifiers: dict[str, Pieces]
    """Fields of modifiers, in the order of the text."""

    @property
    def key(self) -> str:
        """The name with the variant."""
        return f"{self.name}.{self.variant}" if self.variant else self.name


def extract(word: int, pieces: Pieces) -> int:
    """Return the value of a field."""
    value = at = 0
    for shift, width in pieces:
        value |= (word >> shift & (1 << width) - 1) << at
        at += width
    return value


def insert(value: int, pieces: Pieces) -> int:
    """Return the bits of a word where a field has a value."""
    word = 0
    for shift, width in pieces:
        word |= (value & (1 << width) - 1) << shift
        value >>= width
    return word


def bits_of(pieces: Pieces) -> int:
    """Return the mask of the bits of a field."""
    return insert(-1, pieces)


def _pieces(text: str) -> Pieces:
    return tuple((int(shift), int(width)) for shift, _, width in (piece.partition(":") for piece in text.split("+")))


def _fields(text: str) -> dict[str, Pieces]:
    return {name: _pieces(place) for name, _, place in (item.partition("=") for item in text.split())}


def _rows(text: str) -> Iterator[Format]:
    for line in filter(None, text.split("\n")):
        head, operands, bits, modifiers = line.split("|")
        name, size, match, opcode = head.split()
        name, _, variant = name.partition(".")
        matched, _, mask = match.partition("/")
        yield Format(
            *(name, variant, int(size), int(matched, 16), int(mask, 16), _pieces(opcode), _fields(operands)),
            {bit: int(shift) for bit, _, shift in (item.partition("=") for item in bits.split())},
            _fields(modifiers),
        )


@cache
def formats(major: int) -> dict[str, Format]:
    """Return the formats of a generation by their keys."""
    return {row.key: row for row in _rows(GENERATIONS[major])}
