"""Functions for the memory model: operations with all orderings, scopes and address spaces, as source and as code."""

import random
import subprocess
from pathlib import Path

TARGETS = (
    *("gfx803", "gfx900", "gfx90a", "gfx942", "gfx950"),
    *("gfx1010", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1250"),
)
ORDERS = {
    "load": ("RELAXED", "ACQUIRE", "SEQ_CST"),
    "store": ("RELAXED", "RELEASE", "SEQ_CST"),
    "rmw": ("RELAXED", "ACQUIRE", "RELEASE", "ACQ_REL", "SEQ_CST"),
    "fence": ("ACQUIRE", "RELEASE", "ACQ_REL", "SEQ_CST")}  # fmt: skip
SCOPES = {
    "SYSTEM": "", "DEVICE": "agent", "CLUSTR": "cluster", "WRKGRP": "workgroup", "WVFRNT": "wavefront",
    "SINGLE": "singlethread"}  # fmt: skip
SPACES = {"global": "__global int *", "local": "__local int *", "generic": "int *"}
RMW = (
    "__scoped_atomic_fetch_add({p}, x, {o}, {s})",
    "__scoped_atomic_exchange_n({p}, x, {o}, {s})",
    "__scoped_atomic_fetch_max({p}, x, {o}, {s})")  # fmt: skip


def operation(kind: str, order: str, scope: str, pick: random.Random) -> list[str]:
    """Return the lines of one operation on ``p``."""
    order_name, scope_name = f"__ATOMIC_{order}", f"__MEMORY_SCOPE_{scope}"
    if kind == "load":
        return [f"  v += __scoped_atomic_load_n(p, {order_name}, {scope_name});"]
    if kind == "store":
        return [f"  __scoped_atomic_store_n(p, x, {order_name}, {scope_name});"]
    if kind == "fence":
        where = pick.choice(("", "", ', "global"', ', "local"'))
        return [f'  __builtin_amdgcn_fence({order_name}, "{SCOPES[scope]}"{where});']
    if pick.random() < 0.2:
        failure = {"ACQUIRE": "ACQUIRE", "SEQ_CST": "SEQ_CST", "ACQ_REL": "ACQUIRE"}.get(order, "RELAXED")
        call = f"__scoped_atomic_compare_exchange_n(p, &e, x, 0, {order_name}, __ATOMIC_{failure}, {scope_name})"
        return ["  int e = y;", f"  v += {call};", "  v += e;"]
    call = pick.choice(RMW).format(p="p", o=order_name, s=scope_name)
    return [f"  v += {call};" if pick.random() < 0.6 else f"  {call};"]


def function(number: int, pick: random.Random) -> list[str]:
    """Return the lines of one function: accesses before and after an operation, on paths that differ."""
    kind = pick.choice(tuple(ORDERS))
    order, scope = pick.choice(ORDERS[kind]), pick.choice(tuple(SCOPES))
    space = pick.choice(tuple(SPACES))
    shape = pick.choice(("line", "branch", "loop", "two"))
    is_kernel = pick.random() < 0.5 and space != "generic"
    head = "kernel void" if is_kernel else "int"
    lines = [
        f"{head} f{number}({SPACES[space]}p, __global int *q, __global int *r, __local int *l, int x, int y)",
        "{",
        "  int v = 0;",
    ]
    before = pick.sample(("  q[1] = x;", "  v += q[2];", "  l[3] = y;", "  v += l[4];"), pick.randint(0, 4))
    after = pick.sample(("  r[1] = x;", "  v += r[2];", "  l[5] = y;", "  v += l[6];"), pick.randint(1, 4))
    middle = operation(kind, order, scope, pick)
    if shape == "branch":
        middle = ["  if (x > y) {", *middle, "  }"]
    elif shape == "loop":
        middle = ["  for (int i = 0; i < x; i++) {", *middle, "    v ^= r[i];", "  }"]
    elif shape == "two":
        second = [
            line.replace("int e", "int e2").replace("&e", "&e2").replace("+= e;", "+= e2;")
            for line in operation(kind, order, scope, pick)
        ]
        middle = [*middle, "  r[7] = v;", *second]
    lines += [*before, *middle, *after]
    return [*lines, "  r[0] = v;" if is_kernel else "  return v;", "}", ""]


def source(seed: int, count: int) -> str:
    pick = random.Random(seed)
    return "\n".join(line for number in range(count) for line in function(number, pick))


def compiled(folder: Path, text: str, target: str, *options: str, name: str = "k") -> Path:
    path = folder / f"{name}.cl"
    path.write_text(text)
    output = folder / f"{name}.{target}.co"
    subprocess.run([*command(target), *options, str(path), "-o", str(output)], check=True, capture_output=True)
    return output


def command(target: str) -> list[str]:
    return [
        *("clang-22", "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib"),
        *("-O2", "-g", "-Wno-everything"),
    ]
