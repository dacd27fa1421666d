"""What producers are known to write wrongly, where no repair is needed to read it as meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dwarfgpu.audits.verify.findings import Problem
    from dwarfgpu.objfile.info.dies import Die


def _is_without_code(die: Die) -> bool:
    size = die.number(dw.DW_AT_high_pc)
    return size is not None and size.value == 0


def _begins_at_end(die: Die) -> bool:
    owner, place = die.parent(), die.number(dw.DW_AT_data_member_location)
    size = None if owner is None else owner.number(dw.DW_AT_byte_size)
    return place is not None and size is not None and place.value == size.value


def _is_repeated(die: Die) -> bool:
    owner = die.parent()
    return owner is not None and sum(each.name == die.name for each in owner.children()) > 1


@frozen
class Mistake:
    """One known mistake: the problems that it is, and the producers that make it."""

    rule: str
    values: Mapping[str, object]
    """Values of the problem."""
    producer: str
    """A pattern of DW_AT_producer."""
    words: str
    holds: Callable[[Die], bool] | None = None
    """What else must hold for the entry."""


MISTAKES: tuple[Mistake, ...] = (
    Mistake("expression-pointer-target", {"offset": 0}, "GNU ",
            "GCC does not know the target in .dwo files", lambda die: die.unit.is_split),
    Mistake("expression-stack-underflow", {"operation": "DW_OP_form_tls_address"}, "GNU ",
            "GCC writes the offset of a thread's variable behind the operation"),
    Mistake("expression-type-mismatch", {"operation": "DW_OP_and"}, "GNU ",
            "GCC combines the result of a comparison with a floating-point number"),
    Mistake("expression-no-frame-base", {}, "GNU ", "GCC needs no frame base for the arguments of calls",
            lambda die: die.tag == dw.DW_TAG_call_site_parameter),
    Mistake("entry-attribute-missing", {"tag": "DW_TAG_variable"}, r"GNU .* -g1\b", "GCC writes no types with -g1"),
    Mistake("entry-attribute-missing", {"tag": "DW_TAG_inlined_subroutine"}, "GNU ",
            "GCC keeps inlined calls without code or function", _is_without_code),
    Mistake("entry-range-outside", {}, "GNU AS ", "GNU AS leaves functions out of the ranges of a unit",
            lambda die: die.tag == dw.DW_TAG_subprogram),
    Mistake("entry-empty", {}, "rustc|Go ", "blocks and inlined calls of which nothing is left are kept",
            lambda die: die.tag != dw.DW_TAG_subprogram),
    Mistake("entry-member-outside", {}, "rustc", "rustc counts no bytes of a last member without a fixed size",
            _begins_at_end),
    Mistake("entry-member-overlap", {}, "clang version", "clang has one place for a captured pack", _is_repeated),
    Mistake("entry-base-size", {"name": "__coro_index"}, "clang version", "clang gives a character 8 bytes"),
    Mistake("entry-parent", {"tag": "DW_TAG_pointer_type", "owner": "DW_TAG_subroutine_type"}, "GNU ",
            "GCC writes the type of an object in the type of its member function"),
    Mistake("entry-completed", {}, "GNU GIMPLE ", "GCC leaves functions as they were before linking"),
    *(Mistake("entry-attribute-class", {"name": name, "form": "DW_FORM_block1"}, "Go ", "Go writes locations as blocks")
      for name in ("DW_AT_frame_base", "DW_AT_location", "DW_AT_data_member_location")),
    Mistake("expression-piece-size", {}, "Go ", "Go gives a part of a value more than one piece"),
    Mistake("frame-length", {"length": 20}, "Go ", "Go pads the CIE to 4 bytes"),
)  # fmt: skip


def mistake_in(problem: Problem, producer: str) -> str | None:
    """Return the words of the known mistake that a problem is; None if it is none."""
    for mistake in MISTAKES:
        is_meant = mistake.rule == problem.rule.name and mistake.values.items() <= (problem.values or {}).items()
        if is_meant and re.search(mistake.producer, producer):
            die = problem.die
            if mistake.holds is None or (die is not None and mistake.holds(die)):
                return mistake.words
    return None
