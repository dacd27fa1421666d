"""``dwarfgpu compile``: from the source of a kernel to its code object."""

from __future__ import annotations

import os
from shlex import quote
from typing import TYPE_CHECKING, Any

from dwarfgpu.compilers import BUILD
from dwarfgpu.compilers.sources import USUAL_PROCESSOR, Recipe, compile_source
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.questions.document import OK
from dwarfgpu.regular_files import whole_output
from dwarfgpu.runtimes.hip.hipcc import compile_program, is_program

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session


def compile_file(session: Session, options: Any) -> int:
    """Compile a source, and say what became of it."""
    source: str = options.source
    clang_words = (*BUILD.options, *(options.clang_option or ()))
    target = USUAL_PROCESSOR if options.target is None else options.target
    if options.o is not None and is_program(source, options.o):
        return compile_program([source, "-o", options.o, f"-O{BUILD.level}", f"--offload-arch={target}", *clang_words])
    recipe = Recipe(target, BUILD.level, clang_words)
    compiled = compile_source(source, recipe)
    path = options.o or f"{os.path.splitext(os.path.basename(source))[0]}.co"
    note = "; the older file is replaced" if not options.o and os.path.exists(path) else ""
    with whole_output(path) as file:
        file.write(compiled.code)
    for line in compiled.messages.splitlines():
        session.tell(line)
    kernels = opened(path).kernel_names()
    if session.wants_json:
        session.print_json(
            {"path": path, "source": source, "target": compiled.target.name, "kernels": kernels,
             "clang": {"path": compiled.clang.path, "version": compiled.clang.version}}
        )  # fmt: skip
    else:
        session.print(f"{path}: {compiled.target.name}, {', '.join(kernels) or 'no kernel'}{note}")
    if kernels:
        words = f"{quote(str(path))} {quote(kernels[0])}"
        session.hint(f"`dwarfgpu run {words} --grid N --work-group N ARG...` executes it")
    return OK
