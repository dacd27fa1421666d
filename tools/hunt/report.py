"""The report of a finding, for those who write the compiler."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from hunt.source_levels import LOST, RESULT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hunt.cause_finder import FindingCause


def report_text(cause: FindingCause) -> Iterator[str]:
    """Yield a report in Markdown, as the tracker of LLVM takes it."""
    finding, blamed = cause.finding, cause.blamed
    is_result = finding.rule == RESULT
    who = "" if blamed is None else f"[{blamed.name}] "
    if is_result:
        yield f"# {who}Wrong result at -O{cause.level} ({cause.processor})"
    else:
        what = "has no location" if finding.rule == LOST else "has a wrong location"
        yield f"# {who}Variable `{finding.variable}` {what} at -O{cause.level} ({cause.processor})"
    clang, *_words, name, _option, code = shlex.split(cause.command)
    yield from (
        "",
        f"{cause.compiler}:",
        "",
        "```sh",
        f"cat > {shlex.quote(name)} << 'EOF'",
        *cause.source.rstrip().split("\n"),
    )
    yield from ("EOF", cause.command)
    if cause.dwarf:
        yield f"{clang.replace('clang', 'llvm-dwarfdump')} --name={finding.variable} {code}"
    yield from ("```", "")
    if is_result:
        yield f"`{cause.kernel}` writes another result than it should: {finding.message}."
    else:
        address = "" if cause.address is None else f" ({cause.address:#x})"
        line = f", line {finding.line}" if finding.line else ""
        yield f"In a simulator, at `{finding.function}+{finding.offset:#x}`{address}{line}: {finding.message}."
    if blamed is not None:
        yield ""
        if blamed.is_confirmed:
            yield f"Without the pass `{blamed.name}` this does not happen ({blamed.how})."
        else:
            yield f"The pass is most likely `{blamed.name}` ({blamed.how})."
        for title, lines in (("Before", blamed.before), ("After", blamed.after)):
            if lines:
                yield from ("", f"{title} the pass:", "", "```", *lines, "```")
    if cause.dwarf:
        yield from ("", "llvm-dwarfdump, of this function:", "", "```", *cause.dwarf.split("\n"), "```")
