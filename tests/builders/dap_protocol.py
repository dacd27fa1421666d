"""The Debug Adapter Protocol as data: which fields messages have, of which types; and a check of messages.

`protocol.txt` has a line for each record: its base, and its fields, ``?`` behind those that may be absent. It was made
of `lib/debugProtocol.d.ts` of the npm package @vscode/debugprotocol 1.68.0, which a slow test reads again.
"""

import json
import re
from functools import cache
from typing import Any, NamedTuple

from tests.builders.folders import ROOT

TABLE = ROOT / "tests/dap/protocol.txt"
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_HEAD = re.compile(r"(?:interface|type) (\w+)(?: extends (\w+))?\s*(?:=\s*)?")
_FIELD = re.compile(r"\s*(\w+)(\??): ")


class Record(NamedTuple):
    """A kind of message, or of an object in messages."""

    base: str
    fields: dict[str, tuple[bool, str]]
    """Whether each must be there, and its type."""


# --- From TypeScript ------------------------------------------------------------------------------------------------


def read_typescript(text: str) -> str:
    """Return the lines of the table for declarations in TypeScript."""
    lines: list[str] = []
    text = _COMMENT.sub("", text)
    for match in _HEAD.finditer(text):
        name, base = match[1], match[2] or ""
        if text[match.end()] == "{":
            _object(name, base, text, match.end(), lines)
        else:
            lines.append(f"{name} = {_kind(text[match.end() : text.index(';', match.end())])}")
    return "".join(f"{line}\n" for line in sorted(lines))


def _object(name: str, base: str, text: str, at: int, lines: list[str]) -> int:
    """Note an object whose brace is at a position; return where it ends."""
    fields = []
    at += 1
    while text[at:].lstrip()[0] != "}":
        field = _FIELD.match(text, at)
        if field is None:  # { [key: string]: ... }
            return text.index("}", at) + 1
        at = field.end()
        if text[at] == "{":
            inner = f"{name}.{field[1]}"
            is_map = text[at + 1 :].lstrip().startswith("[")
            at = _object(inner, "", text, at, lines)
            kind = "object" if is_map else inner
        else:
            end = text.index(";", at)
            kind, at = _kind(text[at:end]), end
        at = at + 1 if text[at] == ";" else at
        fields.append(f"{field[1]}{field[2]}:{kind}")
    lines.append(" ".join((f"{name} < {base}" if base else name, *fields)))
    return text.index("}", at) + 1


def _kind(text: str) -> str:
    """Return a type without blanks; a list of words that may be longer is a text."""
    kinds = [part.strip() for part in text.split("|")]
    is_open = "string" in kinds and all(part[0] == "'" or part == "string" for part in kinds)
    return "string" if is_open else "|".join(kinds).replace("(", "").replace(")", "")


# --- The check ------------------------------------------------------------------------------------------------------


@cache
def table() -> tuple[dict[str, Record], dict[str, str]]:
    """Return the records by name, and the types that have another name."""
    records, names = {}, {}
    for line in TABLE.read_text().splitlines():
        head, *fields = line.split(" ")
        if fields[:1] == ["="]:
            names[head] = fields[1]
            continue
        base = fields[1] if fields[:1] == ["<"] else ""
        parts = [field.partition(":") for field in (fields[2:] if base else fields)]
        records[head] = Record(base, {name.rstrip("?"): (name[-1] != "?", kind) for name, _, kind in parts})
    return records, names


def fields_of(name: str) -> dict[str, tuple[bool, str]]:
    """Return the fields of a record and of its bases."""
    record = table()[0][name]
    return {**(fields_of(record.base) if record.base else {}), **record.fields}


def problems(value: Any, kind: str, where: str = "") -> list[str]:
    """Return what is wrong with a value of a type."""
    kind = table()[1].get(kind, kind)
    if kind in ("any", "object"):
        return [] if kind == "any" or isinstance(value, dict) else [f"{where}: not an object"]
    if kind.endswith("[]") and "|" not in kind.removesuffix("[]").replace("'", ""):
        if not isinstance(value, list):
            return [f"{where}: not a list"]
        return [each for item in value for each in problems(item, kind[:-2], f"{where}[]")]
    if "|" in kind:
        found = [problems(value, part, where) for part in kind.split("|")]
        return [] if [] in found else [f"{where}: {json.dumps(value)[:60]} is not {kind}"]
    if kind[0] == "'":
        return [] if value == kind[1:-1] else [f"{where}: not {kind}"]
    if kind in ("string", "number", "boolean", "null"):
        types = {"string": str, "number": (int, float), "boolean": bool, "null": type(None)}
        is_right = isinstance(value, types[kind]) and (kind != "number" or not isinstance(value, bool))
        return [] if is_right else [f"{where}: {json.dumps(value)[:60]} is not a {kind}"]
    if not isinstance(value, dict):
        return [f"{where}: not a {kind}"]
    fields = fields_of(kind)
    found = [f"{where}.{name} is missing" for name, (is_needed, _) in fields.items() if is_needed and name not in value]
    for name, item in value.items():
        if name in fields:
            found += problems(item, fields[name][1], f"{where}.{name}")
        elif fields:
            found.append(f"{where}.{name} is not a field of {kind}")
    return found


def message_problems(message: dict[str, Any]) -> list[str]:
    """Return what is wrong with a message, which is checked as its command or its event has it."""
    kind = {"request": "Request", "response": "Response", "event": "Event"}[message["type"]]
    name = message.get("command") or message.get("event") or ""
    own = f"{name[:1].upper()}{name[1:]}{kind}"
    if kind == "Response" and not message["success"]:
        own = "ErrorResponse"
    if name.startswith("dwarfgpu/") or (kind == "Request" and name in ("launch", "attach", "restart")):
        own = kind  # of our own, or with arguments of our own
    return problems(message, own, name)
