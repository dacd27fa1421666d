"""Defects of the memory model, put into the assembly of compiled functions: one in each function."""

import random
import re
import subprocess
from pathlib import Path

from tests.audits.memory_model.generator import command

_LABEL = re.compile(r"(f\d+):")
_WAITCNT = re.compile(r"\ts_waitcnt ([^;]*\w)")
_FIELD = re.compile(r"(vmcnt|lgkmcnt)\((\d+)\)")
_WAIT = re.compile(
    r"\ts_wait_(loadcnt|storecnt|dscnt|samplecnt|bvhcnt|kmcnt|xcnt|loadcnt_dscnt|storecnt_dscnt) (0x[0-9a-f]+)"
)
_CACHE = re.compile(
    r"\t(buffer_wbl2|buffer_inv|buffer_invl2|buffer_wbinvl1_vol|buffer_gl[01]_inv|global_wb|global_inv)\b"
)
_ACCESS = re.compile(
    r"\t(?:global|flat|buffer)_(load|store|atomic)\w*\s.*?((?: (?:glc|dlc|sc0|sc1|scope:SCOPE_\w+))+)\s*$"
)
_LOCATION = re.compile(r"\t\.loc\t\d+ (\d+) (\d+)")
NOP = "\ts_nop 0"
"""What stands where an instruction was, so that the line it was made for is still there."""


def assembly(path: Path, target: str) -> str:
    run = subprocess.run([*command(target), "-S", str(path), "-o", "-"], check=True, capture_output=True, text=True)
    return run.stdout


def assembled(text: str, target: str, output: Path) -> Path:
    source = output.with_suffix(".s")
    source.write_text(text)
    options = ("-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib")
    subprocess.run(
        ["clang-22", "-x", "assembler", *options, str(source), "-o", str(output)], check=True, capture_output=True
    )
    return output


def defects_of(line: str) -> list[tuple[str, str]]:
    """Return what a line can become: the kind of the defect, and the line."""
    match = _WAITCNT.match(line)
    if match:
        fields = _FIELD.findall(match[1])
        if not fields:
            return []
        made = [("wait removed", NOP)]
        for name, _value in fields:
            others = " ".join(f"{other}({number})" for other, number in fields if other != name)
            weaker = " ".join(f"{other}({int(number) + (other == name)})" for other, number in fields)
            if others:
                made.append(("counter removed", f"\ts_waitcnt {others}"))
            if name == "vmcnt":
                made.append(("wait weakened", f"\ts_waitcnt {weaker}"))
        return made
    if line.startswith("\ts_waitcnt_vscnt null, 0x0"):
        return [("wait removed", NOP), ("wait weakened", "\ts_waitcnt_vscnt null, 0x1")]
    match = _WAIT.match(line)
    if match:
        name, value = match[1], int(match[2], 16)
        made = [("wait removed", NOP)]
        if "_" in name:
            first, second = name.split("_")
            made += [
                ("counter removed", f"\ts_wait_{first} {value >> 8:#x}"),
                ("counter removed", f"\ts_wait_{second} {value & 63:#x}"),
            ]
        elif name in {"loadcnt", "storecnt"}:
            made.append(("wait weakened", f"\ts_wait_{name} {value + 1:#x}"))
        return made
    if _CACHE.match(line):
        made = [("write-back removed" if "wb" in line and "inv" not in line else "invalidate removed", NOP)]
        for wide, narrow in (
            ("SCOPE_SYS", "SCOPE_DEV"),
            ("SCOPE_DEV", "SCOPE_SE"),
            ("sc0 sc1", "sc1"),
            (" sc1", " sc0"),
        ):
            if wide in line:
                made.append(("scope weakened", line.replace(wide, narrow)))
                break
        return made
    return []


def access_defects(line: str) -> list[tuple[str, str]]:
    """Return what the line of an atomic access can become, with fewer cache bits or a narrower scope."""
    match = _ACCESS.match(line)
    if not match:
        return []
    bits = match[2].split()
    made = []
    for bit in bits:
        if match[1] == "atomic" and bit in {"glc", "sc0"}:
            continue  # it says that the atomic returns a value
        made.append(("cache bit removed", re.sub(rf" {bit}(?!\w)", "", line)))
    return made


def seeded(text: str, source: str, pick: random.Random) -> tuple[str, dict[str, str]]:
    """Return assembly with one defect in each function where one is possible, and the defects by function."""
    lines, source_lines = text.split("\n"), source.split("\n")
    is_ordering = False
    choices: dict[str, list[tuple[int, str, str]]] = {}
    name, is_entry = "", True
    for number, line in enumerate(lines):
        label = _LABEL.match(line)
        if label:
            name, is_entry = label[1], True
            continue
        if line.startswith((".Lfunc_end", "__clang_ocl")):
            name = ""
        location = _LOCATION.match(line)
        if location:
            source_line = source_lines[int(location[1]) - 1]
            is_ordering = "__scoped_atomic" in source_line or "_fence" in source_line
        if not name or not line.startswith("\t") or line.startswith(("\t.", "\t;")):
            continue
        is_wait = line.startswith("\ts_wait")
        if is_entry and is_wait:
            continue  # the function waits for what its caller has loaded
        is_entry = False
        if line.startswith("\ts_waitcnt_vscnt") and (not is_ordering or "gfx1010" in lines[0]):
            continue  # GFX10.1 needs such waits between LDS and vector memory, around branches, for another reason
        if line.startswith("\ts_wait_xcnt") and not is_ordering:
            continue  # it keeps registers with addresses, not the order of accesses
        code = line.split(";")[0].rstrip()
        for kind, changed in [*defects_of(code), *access_defects(code)]:
            choices.setdefault(name, []).append((number, kind, changed))
    defects = {}
    for name, rows in choices.items():
        wanted = pick.choice(sorted({kind for _number, kind, _line in rows}))
        number, kind, changed = pick.choice([row for row in rows if row[1] == wanted])
        defects[name] = f"{kind}: {lines[number].strip()} -> {changed.strip()}"
        lines[number] = changed
    return "\n".join(lines), defects
