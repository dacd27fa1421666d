"""What source code asks for: the atomic operations, fences and barriers of a line, with their orderings and scopes.

Only calls are understood that name their ordering and their scope in words: the builtins of clang and HIP
(``__hip_atomic_*``, ``__scoped_atomic_*``, ``__atomic_*``, ``__opencl_atomic_*``, ``__builtin_amdgcn_fence``), the
functions of OpenCL and C11, and barriers. A call with an ordering that is computed asks for nothing that can be
checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dwarfgpu.audits.memory_model.sequences import ORDERINGS
from dwarfgpu.errors import UsageError, nearest_hint
from dwarfgpu.immutable import frozen
from dwarfgpu.program.language.source_text import closing, column_of, place_of, position_of, quiet
from dwarfgpu.program.language.tokens import split_at_commas
from dwarfgpu.targets.amdgpu.memory_families import ONE_SPACE, SCOPE_NAMES

FENCE, BARRIER = "fence", "barrier"
MAX_CALL = 600
"""The characters of the longest call that is read."""
MAX_LINES = 8

_CALL = re.compile(
    r"\b(__hip_atomic_\w+|__scoped_atomic_\w+|__opencl_atomic_\w+|__c11_atomic_\w+|__atomic_\w+|__sync_\w+"
    r"|atomic_\w+|__builtin_amdgcn_fence|work_group_barrier|barrier|__syncthreads)\s*\("
)
_ORDER = re.compile(
    r"\b(?:__ATOMIC_|(?:std::|__hip_)?memory_order(?:_|::))(RELAXED|CONSUME|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST"
    r"|relaxed|consume|acquire|release|acq_rel|seq_cst)\b"
)
_SCOPE = re.compile(r"\b(?:__HIP_MEMORY_SCOPE_|__MEMORY_SCOPE_|memory_scope_)(\w+)\b")
_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)\s+(.*)")
_NAME = re.compile(r"\b[A-Za-z_]\w*")
NO_MACROS: Mapping[str, str] = {}
MAX_EXPANSIONS = 8
"""How deep names are looked up that stand for others."""
_STRING = re.compile(r'"([^"]*)"')
_GENERIC_NAME = re.compile(r"atomic_(?:load|store|exchange|(?:fetch|compare_exchange)_\w*)(?<!_explicit)")
"""The functions of C11 without an ordering among their arguments."""
_CALLED = {
    "system": "system systm all_svm_devices all_devices",
    "agent": "agent device dvc",
    "cluster": "cluster clustr",
    "workgroup": "workgroup work_group wrkgrp",
    "wavefront": "wavefront wvfrnt sub_group",
    "singlethread": "singlethread single work_item",
}
_SCOPES = {word: scope for scope, words in _CALLED.items() for word in words.split()}
_ORDERINGS = {"relaxed": "monotonic", "consume": "acquire"}


@frozen
class MemoryIntent:
    """What one call of the source asks for."""

    kind: str
    """load, store, rmw, fence or barrier; empty for what a user has stated of a line."""
    ordering: str
    scope: str
    spaces: str
    """``all``, or for fences the one address space that they are about."""
    text: str
    """The name of the call, or what the user has stated."""
    first: int = 0
    """The columns of the call, from 1; 0 where they are not known."""
    last: int = 0


def macros_of(lines: tuple[str, ...]) -> dict[str, str]:
    """Return what the names that a file defines without parameters stand for, those with one meaning."""
    found: dict[str, set[str]] = {}
    for line in lines:
        match = _DEFINE.match(line)
        if match is not None:
            found.setdefault(match[1], set()).add(match[2].strip())
    return {name: bodies.pop() for name, bodies in found.items() if len(bodies) == 1}


def intents_of(lines: tuple[str, ...], number: int, macros: Mapping[str, str] = NO_MACROS) -> tuple[MemoryIntent, ...]:
    """Return what the calls that begin in a line ask for; ``number`` counts from 1.

    ``macros`` are names that stand for something else. An ordering or a scope that is neither known nor such a name
    asks for nothing that can be checked.
    """
    line = lines[number - 1]
    if "(" not in line:
        return ()
    intents = []
    for match in _CALL.finditer(line):
        text, length = _arguments(lines, number, match.end())
        intent = _intent(match[1], _expanded(text, macros))
        if intent is not None:
            kind, ordering, scope, spaces = intent
            first, last = column_of(line, match.start()), column_of(line, match.end() + length) - 1
            intents.append(MemoryIntent(kind, ordering, scope, spaces, match[1], first, last))
    return tuple(intents)


def _expanded(text: str, macros: Mapping[str, str]) -> str:
    for _ in range(MAX_EXPANSIONS if macros else 0):
        before = text
        text = _NAME.sub(lambda match: macros.get(match[0], match[0]), text)[:MAX_CALL]
        if text == before:
            break
    return text


def _arguments(lines: tuple[str, ...], number: int, column: int) -> tuple[str, int]:
    """Return the text between the parentheses of a call, and how much of it is in its first line."""
    text = lines[number - 1][column - 1 :]
    joined = "\n".join([text, *lines[number : number + MAX_LINES]])[: MAX_CALL + 1]
    end = closing(joined, 0)
    return joined[1:end], min(end, len(text)) - 1


def _intent(name: str, text: str) -> tuple[str, str, str, str] | None:
    if name in {"barrier", "work_group_barrier", "__syncthreads"}:
        return BARRIER, "acq_rel", "workgroup", _fenced_spaces(text)
    if name == "__builtin_amdgcn_fence":
        return _builtin_fence(text)
    orders = [order.lower() for order in _ORDER.findall(text)]
    orders = [_ORDERINGS.get(order, order) for order in orders]
    if name.endswith(("_thread_fence", "_work_item_fence")):
        if not orders or "signal" in name:
            return None
        scope = _scope_of(text, is_open=name.startswith("atomic_"), ordering=orders[0])
        if scope is None:
            return None
        if len(_named_spaces(text)) > 1:
            scope = scope.removesuffix(ONE_SPACE)  # it orders what is in the one before what is in the other
        return FENCE, orders[0], scope, _fenced_spaces(text)
    kind = _kind(name)
    if kind is None:
        return None
    if not orders:
        if name.startswith("__sync_"):
            return kind, "seq_cst", "system", "all"
        if _GENERIC_NAME.fullmatch(name):
            return kind, "seq_cst", "agent", "all"
        return None
    ordering = orders[0] if len(orders) == 1 else _merged(orders[0], orders[1])
    is_open = name.startswith(("__opencl_", "atomic_"))
    has_scope = name.startswith(("__hip_atomic_", "__scoped_atomic_", "__opencl_atomic_"))
    may_have_scope = name.startswith("atomic_") and name.endswith("_explicit")
    scope = _scope_of(text, is_open=is_open, ordering=ordering, has_scope=has_scope, may_have_scope=may_have_scope)
    return None if scope is None else (kind, ordering, scope, "all")


def _kind(name: str) -> str | None:
    if "fetch" in name or "exchange" in name or "test_and_set" in name or "compare_and_swap" in name:
        return "rmw"
    if "_load" in name:
        return "load"
    if "_store" in name or name.endswith(("_clear", "_clear_explicit", "lock_release")):
        return "store"
    return "rmw" if name.endswith("_fetch") else None


def _merged(success: str, failure: str) -> str:
    """Return the ordering of a compare and exchange: the stronger of that of its success and of its failure."""
    if {success, failure} == {"acquire", "release"}:
        return "acq_rel"
    return max(success, failure, key=ORDERINGS.index)


def _scope_of(
    text: str, *, is_open: bool, ordering: str, has_scope: bool = False, may_have_scope: bool = False
) -> str | None:
    """Return the scope of a call. In OpenCL it orders one address space, unless the ordering is seq_cst.

    ``has_scope`` is of functions that always take one, ``may_have_scope`` of those that take one behind the ordering.
    """
    match = _SCOPE.search(text)
    if match is None:
        if has_scope or (may_have_scope and _ORDER.search([*split_at_commas(text, "([{)]}")][-1]) is None):
            return None
        return ("agent" if ordering == "seq_cst" else f"agent{ONE_SPACE}") if is_open else "system"
    scope = _SCOPES.get(match[1].lower())
    if scope is None:
        return None
    is_opencl = match[0].startswith("memory_scope_")
    return scope + ONE_SPACE if is_opencl and ordering != "seq_cst" else scope


def _builtin_fence(text: str) -> tuple[str, str, str, str] | None:
    order, strings = _ORDER.search(text), _STRING.findall(text)
    if order is None or not strings:
        return None
    scope = "system" if strings[0] == "" else strings[0]
    if scope not in SCOPE_NAMES and scope != "one-as":
        return None
    spaces = strings[1] if len(strings) == 2 and strings[1] in {"global", "local"} else "all"
    name = order[1].lower()
    return FENCE, _ORDERINGS.get(name, name), "system-one-as" if scope == "one-as" else scope, spaces


def _named_spaces(text: str) -> list[str]:
    """Return the address spaces that the flags of a fence name."""
    return [space for space in ("global", "local") if f"{space.upper()}_MEM_FENCE" in text]


def _fenced_spaces(text: str) -> str:
    named = _named_spaces(text)
    return named[0] if len(named) == 1 else "all"


# --- Where a call is --------------------------------------------------------------------------------------------------

_CONDITIONS = {"if", "for", "while", "switch", "catch"}
_HEAD = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_UNCERTAIN = re.compile(r"^\s*#|\bgoto\b", re.MULTILINE)


def statement_body(
    lines: tuple[str, ...], line: int, column: int, name: str
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return where the body of a function begins and ends, line and column, that has a call as a statement of its own.

    The call is then executed whenever the statements around it are. None for calls in other statements and blocks, in
    comments, and in functions with directives of the preprocessor, which may leave it out.
    """
    text = quiet("\n".join(lines))
    start = position_of(lines, line, column)
    before = text[:start].rstrip()
    if not text.startswith(name, start) or before[-1:] not in (";", "{", "}"):
        return None
    first = _unmatched(before, "{", "}", range(len(before) - 1, -1, -1))
    last = _unmatched(text, "}", "{", range(start, len(text)))
    if first is None or last is None or _UNCERTAIN.search(text[first:last]):
        return None
    head = before[:first].rstrip()
    opened = _unmatched(head[:-1], "(", ")", range(len(head) - 2, -1, -1)) if head.endswith(")") else None
    words = [] if opened is None else [match for match in _HEAD.finditer(head) if match.end() == opened + 1]
    if not words or words[0][1] in _CONDITIONS:
        return None
    return place_of(text, first), place_of(text, last)


def _unmatched(text: str, wanted: str, other: str, positions: range) -> int | None:
    """Return where a bracket is first that has no partner among the positions."""
    depth = 0
    for position in positions:
        if text[position] == wanted and not depth:
            return position
        depth += (text[position] == other) - (text[position] == wanted)
    return None


# --- What a user states -----------------------------------------------------------------------------------------------

_EXPECTED = re.compile(r"\s*(\S+):(\d+)\s+(\S+)\s+(\S+)(?:\s+(\S+))?\s*$")


@frozen
class StatedIntent:
    """What a user has stated of a line: ``k.cl:12 acquire agent``."""

    path: str
    line: int
    intent: MemoryIntent


def stated(text: str) -> StatedIntent:
    """Read what a user states: FILE:LINE, an ordering, a scope, and for a fence that word."""
    match = _EXPECTED.match(text)
    hint = "write FILE:LINE ORDERING SCOPE [fence], such as 'k.cl:12 acquire agent'"
    if match is None:
        raise UsageError(f"--expect {text[:60]!r} is not understood", hint=hint)
    path, line, ordering, scope, kind = match.groups()
    ordering = _ORDERINGS.get(ordering, ordering)
    if ordering not in ORDERINGS:
        raise UsageError(f"{ordering[:40]!r} is not an ordering", hint=nearest_hint(ordering, ORDERINGS, hint))
    if scope not in SCOPE_NAMES:
        raise UsageError(f"{scope[:40]!r} is not a scope", hint=nearest_hint(scope, SCOPE_NAMES, hint))
    if kind not in {None, "load", "store", "rmw", FENCE}:
        raise UsageError(f"{kind[:40]!r} is not load, store, rmw or fence", hint=hint)
    return StatedIntent(path, int(line), MemoryIntent(kind or "", ordering, scope, "all", text.strip()))
