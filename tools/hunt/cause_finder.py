"""From a finding to its cause: the source is made small while the finding stays, and the pass is named."""

from __future__ import annotations

import re
import shlex
import shutil
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.children import PrivateFolder
from dwarfgpu.compilers.clang import find_clang
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.progress import begin
from hunt.blamed_pass import MORE_SUSPECTS, SUSPECTS, PassFinder
from hunt.reducer import MOST_TESTS, SourceReducer, without_blank_lines
from hunt.source_levels import LOST, RESULT
from hunt.source_variants import CODE, is_compared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunt.blamed_pass import BlamedPass
    from hunt.source_levels import SourceFinding
    from hunt.source_variants import SourceVariants

DEFINED = ("-Werror=return-type", "-Werror=uninitialized")
"""Words for the compiler with which a function stays one that returns a value, and a variable one that has a value."""
NOT_A_REGISTER = re.compile(r" bytes of memory at |Cannot access memory at |a location is wanted")
"""What a finding says of an expression that is not about the registers that the compiler means."""
RANGE = re.compile(r"\[0x([0-9a-f]+), 0x")
"""An address at which an entry of a location list begins."""
MOST_LINES = 24


@frozen
class FindingCause:
    """A finding with what is needed to report it."""

    finding: SourceFinding
    kernel: str
    level: str
    processor: str
    command: str
    """The command line of the compiler."""
    compiler: str
    source: str
    blamed: BlamedPass | None
    dwarf: str
    """What llvm-dwarfdump prints about the variable in the function; nothing if it is not installed."""
    is_cut: bool = False
    """Whether as many variants of the source were tried as may be, so that it may be smaller still."""
    address: int | None = None
    """The address of the place."""


class CauseFinder:
    """Finds the cause of one finding of a kernel at a level, in variants of its source."""

    def __init__(self, variants: SourceVariants, level: str, finding: SourceFinding) -> None:
        self.variants = variants
        self.level = level
        self.finding = finding
        self._named: set[str] = set()
        """What a variant must name to have the finding."""

    @cached_property
    def text(self) -> str:
        """The smallest source so far that has the finding."""
        return self.variants.text

    def found_in(self, text: str, options: Sequence[str] = ()) -> SourceFinding | None:
        """Return the same finding of a variant of the source; None if it has none."""
        if not self._named <= _words(text):
            return None
        try:
            code = self.variants.code(text, self.level, (*options, *DEFINED))
            if self.finding.rule == RESULT and not self.variants.plain(text).is_defined:
                return None
            verdict = self.variants.verdict(text, self.level, code, is_compared=is_compared(self.finding.rule))
        except DwarfGpuError:
            if options:  # what cannot be built says nothing about the options
                raise
            return None
        wanted = self.finding.rule, self.finding.function, self.finding.variable
        return next((each for each in verdict.findings if (each.rule, each.function, each.variable) == wanted), None)

    def cause(self, *, tests: int = MOST_TESTS) -> FindingCause:
        """Return the cause, of the source made small with so many tests."""
        self._named = {self.finding.variable, self.variants.kernel} & _words(self.text)
        cause = self.described(is_cut=tests > 0 and self._reduce(tests))
        return evolve(cause, blamed=self._blamed(cause.source, cause.finding, MORE_SUSPECTS if tests else SUSPECTS))

    def described(self, *, is_cut: bool = True) -> FindingCause:
        """Return the finding in the smallest source so far, without the pass that makes it."""
        source, text = self.variants.source, self.text
        there = self.found_in(text)
        found = there or self.finding
        build = text, self.level, () if there is None else DEFINED
        span = self.variants.span(*build, found.function)
        clang = find_clang()
        words = [Path(clang.path).name, *self._language(), "-g", f"-O{self.level}", *source.options]
        return FindingCause(
            *(found, self.variants.kernel, self.level, source.processor),
            " ".join([*words, shlex.quote(self.variants.file_name), "-o", CODE]),
            *(clang.banner.split("\n")[0], text, None),
            "" if found.rule == RESULT else dwarf_text(self.variants.code_file(*build), found.variable, span),
            is_cut,
            span.start + found.offset if span else None,
        )

    def _blamed(self, text: str, found: SourceFinding, suspected: int) -> BlamedPass | None:
        """Return the pass that makes the finding in a text."""
        finder = PassFinder(
            lambda words: self.variants.messages(text, self.level, words),
            lambda words: self.found_in(text, words) is not None,
        )
        if found.rule == RESULT:
            return finder.of_result()
        is_memory = NOT_A_REGISTER.search(found.message) is not None
        return finder.of_variable(
            found.function, found.variable, is_lost=found.rule == LOST, is_memory=is_memory, suspected=suspected
        )

    def _reduce(self, tests: int) -> bool:
        """Make the source small with so many tests; return whether it may be smaller still."""
        progress = begin("variants", tests)

        def tried(smallest: str) -> None:
            self.text = without_blank_lines(smallest)
            lines = len(smallest.split("\n"))
            progress.note = f" tried; {lines} {'line' if lines == 1 else 'lines'} left"
            progress.advance()

        reducer = SourceReducer(lambda variant: self.found_in(variant) is not None, tests, tried)
        try:
            self.text = reducer.reduced(self.text)
            return reducer.tests <= 0
        finally:
            progress.end()

    def _language(self) -> list[str]:
        """Return the words that a reader of the report needs: without the functions that dwarfgpu links."""
        processor = self.variants.source.processor
        if self.variants.source.path.endswith(".cl"):
            return ["-cl-std=CL2.0 -target amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib"]
        words = "-x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib"
        return [words, f"--offload-arch={processor}"]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def dwarf_text(path: str, variable: str, span: range) -> str:
    """Return what the llvm-dwarfdump of the compiler prints about a variable in a function with some addresses."""
    clang = Path(find_clang().path)
    name = clang.name.replace("clang", "llvm-dwarfdump")
    tool = shutil.which(str(clang.with_name(name))) or shutil.which(name) or shutil.which("llvm-dwarfdump")
    if tool is None:
        return ""
    with PrivateFolder() as folder:
        written = folder.run([tool, f"--name={variable}", path], limit=60).stdout.decode(errors="replace")
    lines = [line for line in written.split("\n") if line.strip() and "file format" not in line]
    text = "\n".join(lines).replace(f"{Path(path).parent}/", "")
    entries = re.split(r"\n(?=0x)", text)
    own = [entry for entry in entries if any(int(start, 16) in span for start in RANGE.findall(entry))]
    return "\n".join("\n".join(own or entries).split("\n")[:MOST_LINES])
