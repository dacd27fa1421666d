"""From a finding to its cause: the source is made small while the finding stays, and the pass is named."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.audits.campaign.blamed_pass import MORE_SUSPECTS, SUSPECTS, PassFinder
from dwarfgpu.audits.campaign.campaign_folder import is_random, text_of
from dwarfgpu.audits.campaign.host_results import host_kernels
from dwarfgpu.audits.campaign.reducer import MOST_TESTS, SourceReducer
from dwarfgpu.audits.campaign.source_levels import (
    LOST,
    RESULT,
    UNOPTIMIZED,
    RecordedBuild,
    SourceLevels,
    is_defined,
    judged,
)
from dwarfgpu.compilers.clang import find_clang
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.progress import begin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.audits.campaign.blamed_pass import BlamedPass
    from dwarfgpu.audits.campaign.source_levels import SourceFinding

DEFINED = ("-Werror=return-type", "-Werror=uninitialized")
"""Words for the compiler with which a function stays one that returns a value, and a variable one that has a value."""
NOT_A_REGISTER = re.compile(r" bytes of memory at |Cannot access memory at |a location is wanted")
"""What a finding says of an expression that is not about the registers that the compiler means."""
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
    """What llvm-dwarfdump prints about the variable; nothing if it is not installed."""
    is_cut: bool = False
    """Whether as many variants of the source were tried as may be, so that it may be smaller still."""


class CauseFinder:
    """Finds the cause of one finding of a kernel at a level."""

    def __init__(self, source: SourceLevels, kernel: str, level: str, finding: SourceFinding) -> None:
        self.source = source
        self.kernel = kernel
        self.level = level
        self.finding = finding
        self.is_random = is_random(Path(source.path))
        """Whether the host may execute it: variants of it stay within their buffers, too."""
        self._named: set[str] = set()
        """What a variant must name to have the finding."""
        self._others: dict[str, RecordedBuild | None] = {}
        """The build without optimization of the last text; None if its results are not defined."""

    def found_in(self, text: str, folder: str, options: Sequence[str] = ()) -> SourceFinding | None:
        """Return the same finding of a variant of the source; None if it has none."""
        if not self._named <= _words(text):
            return None
        path = Path(folder) / Path(self.source.path).name
        path.write_text(text, encoding="utf-8")
        variant = evolve(self.source, path=str(path))
        try:
            program, _messages = variant.built(self.level, folder, options=(*options, *DEFINED))
            other = None  # which is needed only to compare with
            if not self.finding.rule.startswith("value-"):
                if text not in self._others:
                    plain = variant.built(UNOPTIMIZED, folder)[0]
                    is_usable = self.finding.rule != RESULT or is_defined(plain, self.kernel)
                    self._others = {text: RecordedBuild(plain, self.kernel) if is_usable else None}
                other = self._others[text]
                if other is None:
                    return None
            host = host_kernels(text) if self.is_random and self.finding.rule == RESULT else None
            verdict = judged(program, self.kernel, self.level, other, host)
        except DwarfGpuError:
            if options:  # what cannot be built says nothing about the options
                raise
            return None
        wanted = self.finding.rule, self.finding.function, self.finding.variable
        return next((each for each in verdict.findings if (each.rule, each.function, each.variable) == wanted), None)

    def cause(self, *, tests: int = MOST_TESTS, of: str = "") -> FindingCause:
        """Return the cause, of the source made small with so many tests; ``of`` is what progress calls it."""
        text = text_of(Path(self.source.path), self.kernel)
        self._named = {self.finding.variable, self.kernel} & _words(text)
        with tempfile.TemporaryDirectory(prefix="dwarfgpu-") as folder:
            is_cut = False
            if tests:
                text, is_cut = self._reduced(text, folder, tests, of)
            found = self.found_in(text, folder) or self.finding
            path = Path(folder) / Path(self.source.path).name
            variant = evolve(self.source, path=str(path))
            finder = PassFinder(
                lambda words: variant.built(self.level, folder, options=words)[1],
                lambda words: self.found_in(text, folder, words) is not None,
            )
            if found.rule == RESULT:
                blamed = finder.of_result()
            else:
                is_memory = NOT_A_REGISTER.search(found.message) is not None
                most = MORE_SUSPECTS if tests else SUSPECTS
                blamed = finder.of_variable(
                    found.function, found.variable, is_lost=found.rule == LOST, is_memory=is_memory, suspected=most
                )
            self.found_in(text, folder)  # the build without further options is there again
            dwarf = dwarf_text(str(Path(folder) / f"{path.stem}.O{self.level}.co"), found.variable)
        clang = find_clang()
        words = [Path(clang.path).name, *self._language(), "-g", f"-O{self.level}", *self.source.options, path.name]
        return FindingCause(
            *(found, self.kernel, self.level, self.source.processor, " ".join([*words, "-o", "k.co"])),
            *(clang.banner.split("\n")[0], text, blamed, "" if found.rule == RESULT else dwarf, is_cut),
        )

    def _reduced(self, text: str, folder: str, tests: int, of: str) -> tuple[str, bool]:
        """Return the smallest source that was found with so many tests, and whether it may be smaller still."""
        progress = begin(f"variants{of}", tests)

        def tried(smallest: str) -> None:
            lines = len(smallest.split("\n"))
            progress.note = f" tried; {lines} {'line' if lines == 1 else 'lines'} left"
            progress.advance()

        reducer = SourceReducer(lambda variant: self.found_in(variant, folder) is not None, tests, tried)
        try:
            return reducer.reduced(text), reducer.tests <= 0
        finally:
            progress.end()

    def _language(self) -> list[str]:
        """Return the words that a reader of the report needs: without the functions that dwarfgpu links."""
        if self.source.path.endswith(".cl"):
            return ["-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa", f"-mcpu={self.source.processor}", "-nogpulib"]
        words = "-x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib"
        return [words, f"--offload-arch={self.source.processor}"]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def dwarf_text(path: str, variable: str) -> str:
    """Return what the llvm-dwarfdump of the compiler prints about a variable; nothing if there is none."""
    clang = Path(find_clang().path)
    name = clang.name.replace("clang", "llvm-dwarfdump")
    tool = shutil.which(str(clang.with_name(name))) or shutil.which(name) or shutil.which("llvm-dwarfdump")
    if tool is None:
        return ""
    done = subprocess.run(  # noqa: S603 (the tool of the user's compiler)
        [tool, f"--name={variable}", path], capture_output=True, text=True, check=False, timeout=60
    )
    lines = [line for line in done.stdout.split("\n") if line.strip() and "file format" not in line]
    return "\n".join(lines[:MOST_LINES]).replace(f"{Path(path).parent}/", "")
