"""The pass of LLVM that makes a finding: a variable is followed through all passes, and passes are left out.

`-print-changed` shows where a variable is said to be after each pass, and which instruction defines what is there.
The passes that change this are suspects, but for those that take a variable out of memory: without them nothing is
judged. The last suspect without which the finding is gone (`-opt-disable`) is the
one; where no suspect can be left out, the last that cannot be. For results that differ, `-opt-bisect-limit` decides.
"""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.progress import begin, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DUMP = re.compile(r"^(?:[#;] )?\*\*\* IR Dump After (.*?) \*\*\*:?.*\n", re.MULTILINE)
CODE = "# Machine code for function "
BISECTED = re.compile(r"^BISECT: running pass \((\d+)\) (.*?) on (.*)$", re.MULTILINE)
IN_IR = re.compile(r"(#dbg_\w+\([^\n]*?), (!\d+), !DIE")
UNCHANGED = (
    "loop-reduce", "amdgpu-lower-kernel-arguments", "codegenprepare", "amdgpu-codegenprepare", "structurizecfg",
    "si-annotate-control-flow",
)  # fmt: skip
"""Passes over IR before the selection of instructions, which `-print-changed` leaves out."""
PRINTING = ("-print-changed=quiet", f"-print-after={','.join(UNCHANGED)}", "-print-module-scope")
"""A twentieth of `-print-after-all`. Only modules have the names of variables."""
REGISTER = re.compile(r"\$([vsa]gpr)(\d+)")
PLACE = re.compile(r"; (\S+:\d+(?::\d+)?)")
DEFINED = re.compile(r"^(?!DBG_)(.*?) = (?!.* = )|implicit-def (?:dead )?(\$\w+)")
WRITER = "asm-printer"
"""What writes locations, behind all passes."""
GLOBAL_ISEL = ("-global-isel", "-global-isel-abort=2")
NOISE = re.compile(
    r" @\[ [^\[\]]* \]|, debug-location !\d+|\S*/(?=[^\s/]*:\d)|, implicit(?:-def)? (?:dead )?\$(?:exec|scc|mode)\w*"
)
"""What lines are shown without."""
OPTION_NAMES = {
    "InstCombine": "instcombine", "SimplifyCFG": "simplifycfg", "Inliner": "inline", "IndVarSimplify": "indvars",
    "LoopFullUnroll": "loop-unroll-full", "MergedLoadStoreMotion": "mldst-motion", "SLPVectorizer": "slp-vectorizer",
    "CorrelatedValuePropagation": "correlated-propagation", "PostOrderFunctionAttrs": "function-attrs",
}  # fmt: skip
"""What options call passes whose class has another name."""
ENTRY, UNKNOWN = "entry", "?"
"""What defines a register where a block begins, and an instruction without a line."""
MEMORY = "memory"
"""What a variable of IR is in that has an address."""
AROUND = 4
SUSPECTS, MORE_SUSPECTS = 6, 40
"""The suspects that are left out one by one, each at the price of a build; more of them of a small source."""


@immutable
class PassDump:
    """What a pass has printed of a function."""

    name: str
    text: str

    @property
    def short(self) -> str:
        """The name that options take: that in parentheses, or the one that is derived from the class."""
        name = self.name.partition(" on ")[0]
        found = re.search(r" \(([\w-]+)\)$", name)
        return found[1] if found else name.removesuffix("Pass")


@frozen
class BlamedPass:
    """The pass that makes a finding."""

    name: str
    is_confirmed: bool
    """Whether the finding is gone without it."""
    how: str
    """What was done to find it."""
    before: tuple[str, ...] = ()
    """The lines about the variable before the pass."""
    after: tuple[str, ...] = ()


def dumps_of(messages: str, function: str) -> list[PassDump]:
    """Return what the passes print of a function, in their order."""
    found = [*DUMP.finditer(messages)]
    dumps = []
    for head, following in zip(found, [*found[1:], None], strict=False):
        text = messages[head.end() : following.start() if following else len(messages)]
        part = _of_function(text, function)
        if part is not None:
            dumps.append(PassDump(head[1], part))
    return dumps


def _of_function(text: str, function: str) -> str | None:
    """Return the part of a dump about a function, with the names of variables in IR."""
    base = re.split(r"[(<]", function)[0].rpartition("::")[2]
    names = rf"(?:{re.escape(function)}|_Z\w*?{len(base)}{re.escape(base)}\w*)"
    if text.startswith(CODE) or f"\n{CODE}" in text:
        found = re.search(rf"^{re.escape(CODE)}{names}:.*?^# End machine code", text, re.MULTILINE | re.DOTALL)
        return found[0] if found else None
    found = re.search(rf"^define [^\n]*@{names}\(.*?^}}", text, re.MULTILINE | re.DOTALL)
    if found is None:
        return None
    variables = dict(re.findall(r'^(!\d+) = !DILocalVariable\(name: "(\w+)"', text, re.MULTILINE))
    return IN_IR.sub(lambda place: f'{place[1]}, !"{variables.get(place[2], "")}", !DIE', found[0])


def sightings(dump: PassDump, variable: str) -> list[tuple[str, str]]:
    """Return where a variable is said to be, in order: what it is in, and the source of what defines that."""
    lines = [line.strip() for line in dump.text.split("\n")]
    is_machine = dump.text.startswith(CODE)
    found = []
    for number, line in enumerate(lines):
        if f'!"{variable}"' not in line:
            continue
        if not is_machine:
            value = re.sub(r"^#dbg_\w+\(|, !\".*", "", line)
            place = re.sub(r"%\S+", "%", value), _operation(lines, value)
            found.append((MEMORY, "") if line.startswith("#dbg_declare") else place)
        elif line.startswith("DBG_VALUE"):
            operands = [line.partition(" ")[2].partition(",")[0]]
            if line.startswith("DBG_VALUE_LIST"):
                operands = re.findall(r"[$%][\w.]+", line.partition("!DIExpression")[2])
            made = (_definition(lines, number, operand) for operand in operands)
            found.append((_kind(", ".join(operands)), ", ".join(made)))
    return found


def _kind(operand: str) -> str:
    """Return what is the same for a place before and after registers are allocated."""
    return "none" if operand == "$noreg" else "register" if operand.startswith(("$", "%")) else operand


def _operation(lines: list[str], value: str) -> str:
    """Return the operation of IR that makes a value; nothing if it is an argument or a constant."""
    name = re.search(r"%[\w.]+", value)
    made = re.compile(rf"{re.escape(name[0])} = (?:tail )?(\w+)") if name else None
    return next((found[1] for line in lines if made and (found := made.match(line))), "")


def _definition(lines: list[str], number: int, operand: str) -> str:
    """Return the source line of the instruction of the block that defines a register last before a line."""
    wanted = _registers(operand)
    for line in reversed(lines[:number]):
        if line.startswith("bb."):
            return ENTRY
        found = DEFINED.search(line)
        if found is not None and wanted & _registers(" ".join(filter(None, found.groups()))):
            place = PLACE.search(line)
            return place[1] if place else UNKNOWN
    return ENTRY


def _registers(text: str) -> set[str]:
    """Return the registers in a text, those of a tuple one by one."""
    found = {f"{bank}{number}" for bank, number in REGISTER.findall(text)}
    for bank, numbers in re.findall(r"\$([vsa]gpr)\d+((?:_[vsa]gpr\d+)+)", text):
        found |= {f"{bank}{number}" for number in re.findall(r"\d+", numbers)}
    return found | set(re.findall(r"%\d+", text))


def changed_lines(before: PassDump, after: PassDump, variable: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines around the place of a variable that a pass has changed first, before it and after it."""
    states = [[*zip(sightings(dump, variable), _blocks(dump, variable), strict=True)] for dump in (before, after)]
    pairs = zip(*states, strict=False)
    number = next((index for index, (left, right) in enumerate(pairs) if left != right), min(map(len, states)))
    is_added = len(states[0]) < len(states[1]) and number < len(states[1])
    around = states[1][number][1] if is_added else None
    return _around(before, variable, number, around), _around(after, variable, number)


def _places(dump: PassDump, variable: str) -> tuple[list[str], list[int]]:
    """Return the lines of a dump, and which of them are about a variable."""
    lines = [line.strip() for line in dump.text.split("\n")]
    is_machine = dump.text.startswith(CODE)
    name = f'!"{variable}"'
    found = [at for at, line in enumerate(lines) if name in line and (not is_machine or line.startswith("DBG_VALUE"))]
    return lines, found


def _blocks(dump: PassDump, variable: str) -> Iterator[str]:
    """Yield the head of the block that each place of a variable is in; IR has none."""
    lines, places = _places(dump, variable)
    for place in places:
        yield next((line for line in reversed(lines[:place]) if line.startswith("bb.")), "")


def _around(dump: PassDump, variable: str, number: int, block: str | None = None) -> tuple[str, ...]:
    """Return the lines around one of the places of a variable, without numbers of metadata and folders.

    With a block, whose head is given, return its first lines.
    """
    lines, places = _places(dump, variable)
    if block in lines:
        shown = lines[lines.index(block) :][: 2 * AROUND + 1]
    elif places:
        at = places[min(number, len(places) - 1)]
        shown = lines[max(0, at - AROUND) : at + AROUND + 1]
    else:
        return ()
    return tuple(NOISE.sub("", line) for line in shown if line)


# --- The pass ---------------------------------------------------------------------------------------------------------


class PassFinder:
    """Finds the pass that makes a finding. ``build`` compiles with words, ``is_wrong`` also judges what comes out."""

    def __init__(self, build: Callable[[Sequence[str]], str], is_wrong: Callable[[Sequence[str]], bool]) -> None:
        self.build = build
        self.is_wrong = is_wrong

    def of_variable(
        self, function: str, variable: str, *, is_lost: bool = False, is_memory: bool = False, suspected: int = SUSPECTS
    ) -> BlamedPass | None:
        """Return the pass after which a variable is wrong or, with ``is_lost``, without any location.

        With ``is_memory`` the file says that it is in memory.
        """
        chosen = (f"-filter-print-funcs={function}",) if function.isidentifier() else ()
        messages = self.build((*_words(*PRINTING, *chosen), *limited(-1)))
        optional = {name for _number, name, _on in BISECTED.findall(messages)}
        dumps = dumps_of(BISECTED.sub("", messages), function)
        states = [sightings(dump, variable) for dump in dumps]
        if is_lost:
            return self._lost(dumps, states, variable)
        suspects = [*_suspects(states)]
        required: BlamedPass | None = None
        if is_memory and states and any(place == "register" for place, _definition in states[-1]):
            how = "the last pass has a register, and the file something else"
            return BlamedPass(WRITER, False, how, after=_around(dumps[-1], variable, 0))
        for before, index in counted(suspects[:suspected], "passes left out", min(len(suspects), suspected)):
            name, title = option_name(dumps[index]), dumps[index].name.rpartition(" (")[0]
            excerpt = changed_lines(dumps[before], dumps[index], variable)
            called = next((each for each in (name, title) if each in optional), None)
            if called is not None and not self._is_wrong(_words(f"-opt-disable={called}"), failed=True):
                return BlamedPass(name, True, f"`-mllvm -opt-disable={shlex.quote(called)}`", *excerpt)
            is_selection = dumps[index].text.startswith(CODE) and not dumps[before].text.startswith(CODE)
            if (called is None or is_selection) and required is None:
                required = BlamedPass(name, False, "the last pass, of those that always run, to change it", *excerpt)
        return required

    def _lost(self, dumps: list[PassDump], states: list[list[tuple[str, str]]], variable: str) -> BlamedPass | None:
        """Return the pass behind which a variable is nowhere."""
        there = [any(not place.endswith(("none", "poison", "undef")) for place, _made in state) for state in states]
        last = max((index for index, is_there in enumerate(there) if is_there), default=None)
        if last is None or last + 1 >= len(dumps):
            return None
        name = option_name(dumps[last + 1])
        is_confirmed = not self._is_wrong(_words(f"-opt-disable={name}"), failed=True)
        excerpt = changed_lines(dumps[last], dumps[last + 1], variable)
        return BlamedPass(name, is_confirmed, "the first pass without a location", *excerpt)

    def of_result(self) -> BlamedPass | None:
        """Return the pass that makes a result wrong, or the selection of instructions if it is wrong without any."""
        passes = [(int(number), name) for number, name, _on in BISECTED.findall(self.build(limited(-1)))]
        if not passes:
            return None
        low, high = 0, passes[-1][0]
        if self._is_wrong(limited(0)):
            if not self._is_wrong((*limited(0), *_words(*GLOBAL_ISEL)), failed=True):
                words = f"`{' '.join(limited(0))}`", f"`{' '.join(_words(*GLOBAL_ISEL))}`"
                how = f"wrong with {words[0]}, right with {words[1]} added: it, or a pass that runs only behind it"
                return BlamedPass("SelectionDAG", True, how)
            return BlamedPass("code generation", False, "wrong with `-mllvm -opt-bisect-limit=0`")
        progress = begin("steps of bisection", high.bit_length())
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._is_wrong(limited(middle)) else (middle, high)
            progress.advance()
        progress.end()
        name = next((name for number, name in passes if number == high), "?")
        return BlamedPass(name, True, f"wrong with `-mllvm -opt-bisect-limit={high}`, right with {low}")

    def _is_wrong(self, words: Sequence[str], *, failed: bool = False) -> bool:
        """Return whether a build shows the finding, and ``failed`` if it cannot be built."""
        try:
            return self.is_wrong(words)
        except DwarfGpuError:
            return failed


def _suspects(states: Sequence[Sequence[tuple[str, str]]]) -> Iterator[tuple[int, int]]:
    """Yield the places of the dumps before and after each pass that changes where a variable is, the last pass first.

    While registers are allocated no dump has variables: what is behind that is compared with what was before it. There
    copies from registers that the kernel begins with vanish.
    """
    there = [index for index, state in enumerate(states) if state]
    for before, after in reversed([*pairwise(there)]):
        own, other = states[before], states[after]
        if after > before + 1:
            own, other = (
                [(place, ENTRY if made == UNKNOWN else made) for place, made in each] for each in (own, other)
            )
        if own != other and _in_memory(own) <= _in_memory(other):
            yield before, after


def _in_memory(state: Sequence[tuple[str, str]]) -> int:
    return sum(place == MEMORY for place, _definition in state)


def limited(number: int) -> tuple[str, ...]:
    """Return the words with which so many passes run that may be left out; -1 are all."""
    return _words(f"-opt-bisect-limit={number}")


def _words(*options: str) -> tuple[str, ...]:
    """Return options of LLVM as words of clang."""
    return tuple(word for option in options for word in ("-mllvm", option))


def option_name(dump: PassDump) -> str:
    """Return the name of a pass for options: SimpleLoopUnswitchPass is simple-loop-unswitch."""
    if dump.short != dump.name.partition(" on ")[0].removesuffix("Pass") or "-" in dump.short:
        return dump.short
    return OPTION_NAMES.get(dump.short) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", dump.short).lower()
