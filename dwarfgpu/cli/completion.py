"""Completion in shells: the script of a shell asks dwarfgpu itself what the word at the cursor can become."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dwarfgpu import dwarf_constants
from dwarfgpu.compilers import is_source
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.checks.findings import CHECKS
from dwarfgpu.questions.selection import open_file
from dwarfgpu.questions.settings import SETTINGS
from dwarfgpu.questions.table import AT_SHELL

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping

    ParserOf = Callable[[str], argparse.ArgumentParser | None]
    Words = Callable[[Mapping[str, str], str], Mapping[str, str]]

SCRIPTS = {"bash": "dwarfgpu.bash", "zsh": "_dwarfgpu", "fish": "dwarfgpu.fish"}
"""The file that each shell runs. A word for which dwarfgpu knows nothing is the name of a file."""
BREAKS = "@=:"
"""Where bash begins a new word inside a word; it replaces only what follows."""
_SPECIAL = {"": r"[^\w@%+=:,./-]", "'": "'", '"': r'[$`"\\!]'}
"""What bash would not take as it is, by the quote that is open."""


def completed(shell: str, words: list[str], summaries: Mapping[str, str], parser_of: ParserOf) -> list[str]:
    """Return what completes the last word; bash gives the line as one word, others the words behind `dwarfgpu`."""
    begin, quote = 0, ""
    if shell == "bash":
        words, begin, quote = _split("".join(words))
        del words[0]
    found: Iterable[tuple[str, str]] = ()
    word = words[-1] if words else ""
    with suppress(DwarfGpuError, OSError):  # the line is not complete, so it may well be wrong
        found = sorted(_candidates(words[:-1], word, summaries, parser_of).items())
    # a name out of a file may have any characters: one that would be two lines is left out
    found = [(text, about) for text, about in found if text.startswith(word) and text != word and text.isprintable()]
    if shell == "bash":
        return [_escaped(text[begin:], quote) for text, _ in found]
    if shell == "zsh":
        found = [(re.sub(r"[:\\]", r"\\\g<0>", text), about) for text, about in found]
    mark = ":" if shell == "zsh" else "\t"
    return [f"{text}{mark}{''.join(filter(str.isprintable, about))}" for text, about in found]


def _escaped(text: str, quote: str) -> str:
    """Return a text as bash reads it, where a quote may be open; the shell quotes for zsh and fish."""

    def escaped(found: re.Match[str]) -> str:
        letter = f"\\{found[0]}"
        return f"{quote}{letter}{quote}" if found[0] in "'!" else letter  # these cannot be escaped inside of quotes

    written = re.sub(_SPECIAL[quote], escaped, text)
    return quote + written if quote and written.startswith(quote) else written  # the first one replaces the open one


def _split(line: str) -> tuple[list[str], int, str]:
    """Return the words of a line up to the cursor, how much of the last one bash keeps, and the quote that is open."""
    words, begin, quote, is_word = [""], 0, "", False
    letters = iter(line)
    for letter in letters:
        if letter == quote or (not quote and letter in "'\""):
            quote = "" if quote else letter
            begin, is_word = len(words[-1]), True
        elif letter == "\\" and quote != "'":
            escaped = next(letters, "")
            words[-1] += escaped if not quote or escaped in '$`"\\' else letter + escaped
        elif quote or not letter.isspace():
            words[-1] += letter
            begin = len(words[-1]) if letter in BREAKS and not quote else begin
        elif words[-1] or is_word:
            words.append("")
            begin, is_word = 0, False
    return words, begin, quote


def _candidates(before: list[str], word: str, summaries: Mapping[str, str], parser_of: ParserOf) -> Mapping[str, str]:
    """Return what a word can become, each with what that is."""
    if not before:
        return {**summaries, "help": "show the help of a command", "--help": "", "--version": ""}
    name, *others = before
    if name == "help":
        return {**_pages({}, ""), **summaries}
    parser = parser_of(name)
    if parser is None:
        return {}
    flags = {flag: action for action in parser._actions for flag in action.option_strings}  # noqa: SLF001
    operands = [action for action in parser._actions if not action.option_strings]  # noqa: SLF001
    given: dict[str, str] = {}
    waiting: argparse.Action | None = None
    for text in others:
        if waiting is not None:
            waiting = None
        elif text.startswith("-") and text.partition("=")[0] in flags:
            action = flags[text.partition("=")[0]]
            given[text.partition("=")[0]] = text
            waiting = action if action.nargs is None and "=" not in text else None
        elif len(operands) > 1 or (operands and operands[0].nargs not in ("+", "*")):
            given[_kind(operands.pop(0))] = text
    if waiting is not None:
        return _values(name, waiting, given, word)
    flag, equals, _ = word.partition("=")
    if equals and flag in flags:
        return {f"{flag}={text}": about for text, about in _values(name, flags[flag], given, word).items()}
    if word.startswith("-"):
        return {max(action.option_strings, key=len): action.help or "" for action in flags.values()}
    return _values(name, operands[0], given, word) if operands else {}


def _kind(action: argparse.Action) -> str:
    return action.dest.removeprefix("operand ")


def _values(name: str, action: argparse.Action, given: Mapping[str, str], word: str) -> Mapping[str, str]:
    """Return what the value of an option or an operand can be."""
    kind = _kind(action)
    words: Iterable[Any] = action.choices or ()
    if not words and "|" in str(action.metavar):
        words = str(action.metavar).strip("[]").split("|")
    if not words and kind == "action":
        words = AT_SHELL[name].operands.split()[0].split("|")
    if words:
        return dict.fromkeys(map(str, words), "")
    ask = KINDS.get((name, kind)) or KINDS.get(("", kind))
    found = {} if ask is None else ask(given, word)
    return {text: about for text, about in found.items() if not text.startswith("-")}  # which would be an option


# --- What options and operands can be ---------------------------------------------------------------------------------


def _settings(name: str) -> Words:
    def choices(_given: Mapping[str, str], _word: str) -> Mapping[str, str]:
        (setting,) = (each for each in SETTINGS if each.name == name)
        return dict.fromkeys(setting.choices, "")

    return choices


def _parts(_given: Mapping[str, str], word: str) -> Mapping[str, str]:
    """Return the code objects of a file whose name is followed by @, or the processors for a source."""
    name, mark, _ = word.partition("@")
    if not mark:
        return {}
    if is_source(name):
        from dwarfgpu.questions.target import target_names

        return {f"{name}@{target}": "" for target in target_names()}
    from dwarfgpu.program.code.code_object import list_contents

    return {f"{name}@{entry.target_id or entry.index}": entry.id for entry in list_contents(name).entries}


def _kernels(given: Mapping[str, str], _word: str) -> Mapping[str, str]:
    file = given.get("file") or given.get("state")
    if file is None:
        return {}
    return dict.fromkeys(open_file(file).kernel_names(), "kernel")


def _arguments(end: str = "", *, is_buffer: bool = True) -> Words:
    """Return what completes the arguments of a kernel, or only its buffers."""

    def arguments(given: Mapping[str, str], _word: str) -> Mapping[str, str]:
        if not {"file", "kernel"} <= given.keys():
            return {}
        from dwarfgpu.program.code.kernel_parameters import DescribedKernel, explicit_arguments

        file = open_file(given["file"])
        kernel = DescribedKernel(file, file.kernels_named([given["kernel"]])[0]).kernel
        known = [each for each in explicit_arguments(kernel) if each.name]
        known = [each for each in known if not is_buffer or each.value_kind == "global_buffer"]
        return {f"{each.name}{end}": each.type_name or "" for each in known}

    return arguments


def _checks(_given: Mapping[str, str], word: str) -> Mapping[str, str]:
    """Return the checks of a run; several are a list with commas."""
    before, comma, _ = word.rpartition("=")[2].rpartition(",")
    return {f"{before}{comma}{name}": "" for name in CHECKS if name not in before.split(",")}


def _sections(given: Mapping[str, str], _word: str) -> Mapping[str, str]:
    if "file" not in given:
        return {}
    from dwarfgpu.questions.dwarf import section_names

    return dict.fromkeys((*section_names(open_file(given["file"])), "all"), "")


def _tags(_given: Mapping[str, str], _word: str) -> Mapping[str, str]:
    return {name.removeprefix("DW_TAG_"): "" for name in dwarf_constants.names("DW_TAG").values()}


def _names(*kinds: str) -> Words:
    def names(given: Mapping[str, str], word: str) -> Mapping[str, str]:
        if "file" not in given:
            return {}
        from dwarfgpu.program.code.completion_index import KnownNames

        return dict(KnownNames([open_file(given["file"])]).starting(word, kinds, MOST))

    return names


def _targets(_given: Mapping[str, str], _word: str) -> Mapping[str, str]:
    from dwarfgpu.questions.target import target_names

    return dict.fromkeys(target_names(), "")


def _repairs(_given: Mapping[str, str], _word: str) -> Mapping[str, str]:
    from dwarfgpu.program.code.repairs import REPAIRS

    return {"auto": "by producer", "all": "", "off": "", **{repair.name: repair.meaning for repair in REPAIRS}}


def _rule_sets(_given: Mapping[str, str], _word: str) -> Mapping[str, str]:
    from dwarfgpu.expr.rules import PRESETS

    return dict.fromkeys(PRESETS, "")


def _operations(given: Mapping[str, str], _word: str) -> Mapping[str, str]:
    if "--isa" in given:
        from dwarfgpu.program.code import instruction_reference

        return dict.fromkeys(instruction_reference.names(), "")
    from dwarfgpu.expr.table import names

    return dict.fromkeys(names(), "")


def _rules(name: str) -> Words:
    def rules(_given: Mapping[str, str], _word: str) -> Mapping[str, str]:
        from dwarfgpu.questions.verification import names_of_rules

        return names_of_rules(name)

    return rules


def _examples(_given: Mapping[str, str], _word: str) -> Mapping[str, str]:
    from dwarfgpu.cli.examples import examples

    return {one.name: one.text for one in examples()}


def _pages(_given: Mapping[str, str], _word: str) -> Mapping[str, str]:
    from dwarfgpu.cli.pages import pages

    return {page.name: page.reader for page in pages().values()}


MOST = 500
"""The most names of a program that are shown."""
KINDS: dict[tuple[str, str], Words] = {
    ("", "file"): _parts,
    ("", "name"): _names("function", "variable", "type"),
    ("", "function"): _names("function"),
    ("", "variable"): _names("variable"),
    ("", "expr"): _names("variable", "function"),
    ("", "kernel"): _kernels,
    ("", "launch"): _kernels,
    ("", "arg"): _arguments("=", is_buffer=False),
    ("", "check"): _checks,
    ("run", "save"): _arguments("="),
    **{("run", kind): _arguments() for kind in ("print", "read_only", "write_only", "fine_grained")},
    **{("run", kind): _names("function") for kind in ("break_", "until")},
    **{("run", kind): _names("variable") for kind in ("watch", "if_")},
    ("dump", "section"): _sections,
    ("dump", "tag"): _tags,
    ("", "target"): _targets,
    ("", "dialect"): _settings("dialect"),
    ("", "attributes"): _settings("attributes"),
    ("", "repair"): _repairs,
    ("", "rules"): _rule_sets,
    ("ls", "name"): _parts,
    ("kernels", "name"): _kernels,
    ("ops", "name"): _operations,
    ("example", "name"): _examples,
    ("docs", "page"): _pages,
    ("targets", "name"): _targets,
    **{(name, "explain"): _rules(name) for name in ("verify", "judge")},
    **{(name, kind): _rules(name) for name in ("verify", "judge", "memmodel", "run") for kind in ("ignore", "only")},
}
"""What asks for the words that the operand or option of a command can be; an empty name is every command."""
