"""``dwarfgpu compile``: from the source of a kernel to its code object."""

from __future__ import annotations

import os
from shlex import quote
from typing import TYPE_CHECKING, Any

from dwarfgpu.compilers.sources import NotCompiled, Recipe, compile_source
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.questions.document import OK
from dwarfgpu.regular_files import whole_output

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session


def compile_file(session: Session, options: Any) -> int:
    """Compile a source, and say what became of it."""
    source: str = options.source
    recipe = Recipe(level="0" if options.O is None else options.O, options=tuple(options.clang_option or ()))
    if options.target is not None:
        recipe = Recipe(options.target, recipe.level, recipe.options)
    try:
        compiled = compile_source(source, recipe)
    except NotCompiled as error:
        for line in error.messages.splitlines():
            session.tell(line)
        if error.messages:
            error.message = f"{source} is not compiled"
        raise
    path = options.o or f"{os.path.splitext(os.path.basename(source))[0]}.co"  # noqa: PTH119, PTH122
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
        session.print(f"{path}: {compiled.target.name}, {', '.join(kernels) or 'no kernel'}")
    if kernels:
        words = f"{quote(str(path))} {quote(kernels[0])}"
        session.hint(f"`dwarfgpu run {words} --grid N --work-group N ARG...` executes it")
    return OK
