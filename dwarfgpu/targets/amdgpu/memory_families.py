"""What each family of processors needs at each synchronization scope: cache bits, waits, write-backs, invalidates.

The memory model of a family is a few numbers for each scope and execution mode (`ScopeLevel`), and a few choices in
which texts and compilers differ (`FamilyRules`). Two rule sets stand side by side: ``text``, the AMDGPU usage of LLVM
("Memory Model GFX6-GFX9", "... GFX90A", "... GFX942", "... GFX10-GFX11", "... GFX12", "... GFX125x"), and ``llvm22``,
what the memory legalizer of LLVM 22 inserts. A field of the rules in which the two differ is a named difference. The
text of GFX6 to GFX10 is that of 2020 ("Memory Model Code Sequences GFX6-GFX10"), which came before the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dwarfgpu.errors import Unsupported, UsageError, nearest_hint
from dwarfgpu.immutable import evolve, fields, frozen
from dwarfgpu.targets.amdgpu.processors import processor_named

SCOPES = ("singlethread", "wavefront", "workgroup", "cluster", "agent", "system")
"""The synchronization scopes, the narrowest first (AMDGPU usage, "Memory Scopes"). For processors without clusters
of work-groups, cluster is agent."""
ONE_SPACE = "-one-as"
"""How the name of a scope ends that orders only accesses to the same address space."""
SCOPE_NAMES = tuple(name for scope in SCOPES for name in (scope, scope + ONE_SPACE))


@frozen
class ScopeLevel:
    """What a family does at one scope in one execution mode."""

    load: str = ""
    """The cache bits of a load, as assembly writes them; of a store; of a read-modify-write."""
    store: str = ""
    rmw: str = ""
    waits: bool = False
    """Whether vector memory operations of other waves in the scope can be reordered, so that they are waited for."""
    write_back: tuple[str, ...] = ()
    """What writes back, before the waits of a release."""
    invalidate: tuple[str, ...] = ()
    """What invalidates, after the waits of an acquire."""


NOTHING = ScopeLevel()
Levels = dict[str, ScopeLevel]


@frozen
class FamilyRules:
    """The memory model of a family of processors, by one rule set."""

    family: str
    table: str
    """The name of the table of the text."""
    before: tuple[str, ...]
    """The counters of vector memory that a release or a sequentially consistent load waits for."""
    loaded: tuple[str, ...]
    """The counters that tell that a load, or an atomic that returns a value, is complete; and of the others."""
    stored: tuple[str, ...]
    acquire_fence: tuple[str, ...]
    """The counters of vector memory that an acquire fence waits for."""
    local: str
    """The counter of LDS operations."""
    caches: Mapping[str, Levels]
    """For each execution mode, for each scope from workgroup on, its level."""
    volatile: tuple[str, str]
    """The cache bits of volatile loads and stores."""
    nontemporal: tuple[str, str]
    volatile_load_waits: tuple[str, ...] = ()
    volatile_store_waits: tuple[str, ...] = ()
    volatile_load_waits_before: tuple[str, ...] = ()
    volatile_store_waits_before: tuple[str, ...] = ()
    replay: tuple[str, ...] = ()
    """What an atomic access that writes global memory waits for, so that a page fault before it does not repeat it."""
    # how the rule sets of a family differ in these fields is in DIFFERENCES
    releases_wait_in_a_cu: bool = False
    local_releases_wait_for_local: bool = False
    one_space_is_kept_by_seq_cst: bool = True
    seq_cst_waits_before_keep_one_space: bool = True
    atomics_without_return_wait_for_local: bool = True
    split_waits_for_local: bool = False
    waits_for_direct_loads: bool = False
    repeated_accesses_are_waited_for: bool = True
    invalidates_outer_caches_first: bool = True
    write_backs_are_waited_for: bool = True
    unordered_stores_are_atomic: bool = False
    results_wait_for_addresses: bool = True


DIFFERENCES: dict[str, str] = {
    "caches": "the caches that are written back or invalidated, and with which instruction: on GFX12 the text writes "
    "back at every scope, LLVM only at system scope, since narrower caches write through; on GFX6 only "
    "buffer_wbinvl1 exists",
    "invalidates_outer_caches_first": "on GFX10 the text invalidates L0 before L1; LLVM invalidates L1 first, since L0 "
    "can fetch a stale word from L1 in between",
    "nontemporal": "on GFX10 a nontemporal store has slc alone in the text, and glc, too, in LLVM",
    "acquire_fence": "an acquire fence waits for loads and stores alone in LLVM, since no sample and no BVH "
    "instruction is atomic; the text waits for samplecnt and bvhcnt too",
    "volatile_load_waits": "what a volatile load waits for afterwards",
    "volatile_store_waits": "what a volatile store waits for afterwards",
    "volatile_load_waits_before": "LLVM waits for xcnt before a volatile load on GFX12.5",
    "volatile_store_waits_before": "before a volatile store LLVM lets everything complete on GFX12, and waits for "
    "xcnt on GFX12.5",
    "unordered_stores_are_atomic": "on GFX12.5 LLVM waits for xcnt before an unordered atomic store, too, which is a "
    "plain store in the text",
    "releases_wait_in_a_cu": "in CU mode, where the waves of a work-group share one L0 cache, LLVM waits for vector "
    "memory at every release and seq_cst operation of workgroup scope; the text waits for LDS alone",
    "local_releases_wait_for_local": "before a release by an LDS operation LLVM waits for LDS operations, too, which "
    "the hardware keeps in order",
    "one_space_is_kept_by_seq_cst": "a seq_cst operation of a one-as scope has all instructions in the text, and those "
    "for its own address space in LLVM",
    "seq_cst_waits_before_keep_one_space": "a seq_cst load of a one-as scope waits first for all address spaces in the "
    "text, and for its own in LLVM",
    "atomics_without_return_wait_for_local": "in CU mode an acquire by a generic atomic without a result does "
    "not wait for LDS in the text, and does in LLVM",
    "split_waits_for_local": "in tgsplit mode, where no LDS is allocated, LLVM waits for lgkmcnt before a release, as "
    "GDS counts there",
    "repeated_accesses_are_waited_for": "a release in a loop: LLVM leaves out the wait for the same access in the "
    "iteration before, as it drops waits that the first iteration does not need",
    "write_backs_are_waited_for": "after buffer_wbl2 LLVM leaves out the wait for vmcnt where no access is "
    "outstanding; the text waits for the write-back, too",
    "results_wait_for_addresses": "on GFX12.5 LLVM leaves out the wait for xcnt before an atomic operation whose "
    "result replaces a register that an access before it has read",
    "waits_for_direct_loads": "LLVM waits for loads that write LDS directly, which the text does not name",
}
"""The fields in which rule sets differ, and how."""


@frozen
class KnownBug:
    """A difference that is a bug of LLVM: it leaves out a wait that the text asks for."""

    field: str
    versions: str
    """In which it was seen."""
    fixed: int | None = None
    """The first version that was seen without it."""


KNOWN_BUGS = (
    KnownBug("repeated_accesses_are_waited_for", "LLVM 22 and 24"),  # pull request 211684 is open
    KnownBug("write_backs_are_waited_for", "LLVM 22", fixed=24),  # pull request 178316
    KnownBug("results_wait_for_addresses", "LLVM 22"),
)


def _levels(
    group: ScopeLevel, agent: ScopeLevel, system: ScopeLevel | None = None, cluster: ScopeLevel | None = None
) -> Levels:
    return {"workgroup": group, "cluster": cluster or agent, "agent": agent, "system": system or agent}


VM, VM_VS = ("vmcnt",), ("vmcnt", "vscnt")
_WBINVL1 = ("buffer_wbinvl1_vol",)
_GL = ("buffer_gl1_inv", "buffer_gl0_inv")

_GFX9_AGENT = ScopeLevel("glc", waits=True, invalidate=_WBINVL1)
GFX9_TEXT = FamilyRules(
    family="GFX9",
    table="Memory Model Code Sequences GFX6-GFX9",
    before=VM,
    loaded=VM,
    stored=VM,
    acquire_fence=VM,
    local="lgkmcnt",
    caches={"cu": _levels(NOTHING, _GFX9_AGENT)},
    volatile=("glc", ""),
    nontemporal=("glc slc", "glc slc"),
    one_space_is_kept_by_seq_cst=False,
    seq_cst_waits_before_keep_one_space=False,
)
GFX8_TEXT = evolve(GFX9_TEXT, family="GFX7-GFX8")
GFX6_TEXT = evolve(GFX9_TEXT, family="GFX6")


def _of_llvm(text: FamilyRules, **changes: Any) -> FamilyRules:
    """Return what LLVM 22 makes of a text."""
    return evolve(
        text,
        releases_wait_in_a_cu=text.family in {"GFX10", "GFX11", "GFX12"},
        local_releases_wait_for_local=True,
        one_space_is_kept_by_seq_cst=True,
        seq_cst_waits_before_keep_one_space=True,
        atomics_without_return_wait_for_local=True,
        repeated_accesses_are_waited_for=False,
        volatile_load_waits=text.loaded,
        volatile_store_waits=text.stored,
        **changes,
    )


GFX9_LLVM = _of_llvm(GFX9_TEXT, waits_for_direct_loads=True)
GFX8_LLVM = _of_llvm(GFX8_TEXT)
_GFX6_AGENT = ScopeLevel("glc", waits=True, invalidate=("buffer_wbinvl1",))
GFX6_LLVM = _of_llvm(GFX6_TEXT, caches={"cu": _levels(NOTHING, _GFX6_AGENT)})

_GFX90A_SYSTEM = evolve(_GFX9_AGENT, write_back=("buffer_wbl2",), invalidate=("buffer_invl2", *_WBINVL1))
_GFX90A_GROUPS = (("cu", NOTHING), ("tgsplit", _GFX9_AGENT))
GFX90A_TEXT = evolve(
    GFX9_TEXT,
    family="GFX90A",
    table="Memory Model Code Sequences GFX90A",
    caches={mode: _levels(group, _GFX9_AGENT, _GFX90A_SYSTEM) for mode, group in _GFX90A_GROUPS},
    volatile_load_waits=VM,
    volatile_store_waits=VM,
)
GFX90A_LLVM = _of_llvm(
    GFX90A_TEXT, waits_for_direct_loads=True, split_waits_for_local=True, write_backs_are_waited_for=False
)

_GFX942_WIDE = (
    ScopeLevel("sc1", "sc1", "", True, ("buffer_wbl2 sc1",), ("buffer_inv sc1",)),
    ScopeLevel("sc0 sc1", "sc0 sc1", "sc1", True, ("buffer_wbl2 sc0 sc1",), ("buffer_inv sc0 sc1",)),
)
_GFX942_GROUP = ScopeLevel("sc0", "sc0")
GFX942_TEXT = evolve(
    GFX90A_TEXT,
    family="GFX942",
    table="Memory Model Code Sequences GFX940, GFX942",
    caches={
        "cu": _levels(_GFX942_GROUP, *_GFX942_WIDE),
        "tgsplit": _levels(evolve(_GFX942_GROUP, waits=True, invalidate=("buffer_inv sc0",)), *_GFX942_WIDE),
    },
    volatile=("sc0 sc1", "sc0 sc1"),
    nontemporal=("nt", "nt"),
)
GFX942_LLVM = _of_llvm(
    GFX942_TEXT, waits_for_direct_loads=True, split_waits_for_local=True, write_backs_are_waited_for=False
)


def _gfx10(load: str, invalidate: tuple[str, ...]) -> dict[str, Levels]:
    group = ScopeLevel("glc", waits=True, invalidate=("buffer_gl0_inv",))
    agent = ScopeLevel(load, waits=True, invalidate=invalidate)
    return {"cu": _levels(NOTHING, agent), "wgp": _levels(group, agent)}


GFX10_TEXT = evolve(
    GFX9_TEXT,
    family="GFX10",
    table="Memory Model Code Sequences GFX6-GFX10",
    before=VM_VS,
    stored=("vscnt",),
    acquire_fence=VM_VS,
    caches=_gfx10("glc dlc", _GL),
    invalidates_outer_caches_first=False,
    volatile=("glc dlc", ""),
    nontemporal=("slc", "slc"),
)
GFX10_LLVM = _of_llvm(
    GFX10_TEXT, invalidates_outer_caches_first=True, nontemporal=("slc", "glc slc"), waits_for_direct_loads=True
)
GFX11_TEXT = evolve(
    GFX10_TEXT,
    family="GFX11",
    table="Memory Model Code Sequences GFX10-GFX11",
    caches=_gfx10("glc", _GL),
    invalidates_outer_caches_first=True,
    volatile=("glc dlc", "dlc"),
    nontemporal=("slc dlc", "glc slc dlc"),
    volatile_load_waits=VM,
    volatile_store_waits=("vscnt",),
)
GFX11_LLVM = _of_llvm(GFX11_TEXT)


def _scoped(scope: str, *, has_write_back: bool) -> ScopeLevel:
    bits = f"scope:SCOPE_{scope}"
    write_back = (f"global_wb {bits}",) if has_write_back else ()
    return ScopeLevel(bits, bits, bits, True, write_back, (f"global_inv {bits}",))


def _gfx12(*, writes_back: bool) -> dict[str, Levels]:
    wide = _scoped("DEV", has_write_back=writes_back), _scoped("SYS", has_write_back=True)
    return {"cu": _levels(NOTHING, *wide), "wgp": _levels(_scoped("SE", has_write_back=writes_back), *wide)}


GFX12_TEXT = FamilyRules(
    family="GFX12",
    table="Memory Model Code Sequences GFX12",
    before=("bvhcnt", "samplecnt", "storecnt", "loadcnt"),
    loaded=("loadcnt",),
    stored=("storecnt",),
    acquire_fence=("bvhcnt", "samplecnt", "storecnt", "loadcnt"),
    local="dscnt",
    caches=_gfx12(writes_back=True),
    volatile=("scope:SCOPE_SYS", "scope:SCOPE_SYS"),
    nontemporal=("th:TH_LOAD_NT", "th:TH_STORE_NT"),
    volatile_load_waits=("loadcnt",),
    volatile_store_waits=("storecnt",),
    local_releases_wait_for_local=True,
    one_space_is_kept_by_seq_cst=False,
    atomics_without_return_wait_for_local=False,
)
GFX12_LLVM = evolve(
    _of_llvm(
        GFX12_TEXT,
        acquire_fence=("loadcnt", "storecnt"),
        caches=_gfx12(writes_back=False),
        volatile_store_waits_before=("loadcnt", "samplecnt", "bvhcnt", "kmcnt", "storecnt"),
    ),
    volatile_load_waits=("bvhcnt", "samplecnt", "loadcnt"),
)
_ST_LD, _XCNT = ("storecnt", "loadcnt"), ("xcnt",)
GFX12_5_TEXT = evolve(
    GFX12_TEXT,
    family="GFX12.5",
    table="Memory Model Code Sequences GFX125x",
    before=_ST_LD,
    acquire_fence=_ST_LD,
    caches={
        "cu": _levels(
            ScopeLevel(waits=True),  # the waves of a work-group share one cache, which keeps no order among them
            _scoped("DEV", has_write_back=True),
            _scoped("SYS", has_write_back=True),
            cluster=_scoped("SE", has_write_back=False),
        )
    },
    replay=_XCNT,
)
GFX12_5_LLVM = _of_llvm(
    GFX12_5_TEXT,
    volatile_load_waits_before=_XCNT,
    volatile_store_waits_before=_XCNT,
    unordered_stores_are_atomic=True,
    results_wait_for_addresses=False,
)

FAMILIES: dict[str, dict[str, FamilyRules]] = {
    text.family: {"text": text, "llvm22": llvm}
    for text, llvm in (
        (GFX6_TEXT, GFX6_LLVM), (GFX8_TEXT, GFX8_LLVM), (GFX9_TEXT, GFX9_LLVM), (GFX90A_TEXT, GFX90A_LLVM),
        (GFX942_TEXT, GFX942_LLVM), (GFX10_TEXT, GFX10_LLVM), (GFX11_TEXT, GFX11_LLVM), (GFX12_TEXT, GFX12_LLVM),
        (GFX12_5_TEXT, GFX12_5_LLVM),
    )
}  # fmt: skip
"""The rules of each family, by rule set."""


def family_of(processor: str) -> str:
    """Return the family of a processor: ``gfx1030`` is one of GFX10."""
    row = processor_named(processor)
    if row is None:
        from dwarfgpu.targets.amdgpu.processors import processors

        names = [known.name for known in processors()]
        hint = nearest_hint(processor, names, "name one such as gfx90a, gfx1100 or gfx1200")
        raise UsageError(f"there is no processor {processor[:40]!r}", hint=hint)
    name, major = row.name, row.major
    if name == "gfx90a":
        return "GFX90A"
    if name.startswith(("gfx94", "gfx95", "gfx9-4")):
        return "GFX942"
    if name.startswith(("gfx125", "gfx12-5")):
        return "GFX12.5"
    if major > 12 or major < 6:
        message = f"there is no memory model for {name}"
        raise Unsupported("no_memory_model", message, hint="there are those of GFX6 to GFX12.5")
    return {6: "GFX6", 7: "GFX7-GFX8", 8: "GFX7-GFX8"}.get(major, f"GFX{major}")


def family_rules(processor: str, rule_set: str = "llvm22") -> FamilyRules:
    """Return the rules of a processor's family, by one rule set."""
    return FAMILIES[family_of(processor)][rule_set]


def mode_of(rules: FamilyRules, mode: str | None) -> str:
    """Return an execution mode that a family has; the default is that of the compiler."""
    if mode is None:
        return "wgp" if "wgp" in rules.caches else "cu"
    if mode not in rules.caches:
        known = ", ".join(rules.caches)
        raise UsageError(f"{rules.family} has no execution mode {mode!r}", hint=f"it has {known}")
    return mode


def difference_name(field: str) -> str:
    """Return the name of a difference, as users see it: ``acquire-fence``."""
    return field.replace("_", "-")


def differences_of(family: str) -> dict[str, str]:
    """Return the fields in which the two rule sets of a family differ, and how."""
    text, llvm = FAMILIES[family]["text"], FAMILIES[family]["llvm22"]
    names = [field.name for field in fields(FamilyRules) if getattr(text, field.name) != getattr(llvm, field.name)]
    return {name: DIFFERENCES[name] for name in names}
