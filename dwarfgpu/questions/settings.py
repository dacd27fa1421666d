"""What ``set`` changes and ``show`` shows, declared once."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dwarfgpu.budget import DEFAULT, MAX_FRAMES
from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ON = ("on", "yes", "1", "true", "enable", "")
OFF = ("off", "no", "0", "false", "disable")
MAX_NUMBER = 1 << 31
"""What ``unlimited`` is kept as."""
AUTOMATIC = -1
"""What ``auto`` is kept as."""


@frozen
class Setting:
    """One setting: its name, what it is by default, and what it may be."""

    name: str
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    least: int = 0
    unlimited: bool = False
    """Whether ``unlimited``, and so 0, is a number too."""
    has_zero: bool = False
    """Whether 0 is a number although there is ``unlimited``, which is then -1."""
    automatic: bool = False
    """Whether ``auto`` is a number too, which is kept as -1."""
    many: bool = False
    """Whether it is several of the choices, in an order."""
    alias: str = ""
    """Another name of it."""
    check: Callable[[str], object] | None = None
    """Raises an error for a text that it cannot be."""

    def read(self, text: str) -> Any:
        """Return a value as a user types it."""
        kind = type(self.default)
        if self.check is not None:
            self.check(text)
        if kind is bool:
            if text in ON or text in OFF:
                return text in ON
            raise self._wrong(text, "on or off")
        if kind is int:
            return self._number(text)
        if self.many:
            words = text.replace(",", " ").split()
            wrong = [word for word in words if word not in self.choices]
            if wrong:
                raise self._wrong(wrong[0], ", ".join(self.choices))
            return tuple(dict.fromkeys(words))
        if self.choices and text not in self.choices:
            near = [choice for choice in self.choices if choice.startswith(text)]
            if len(near) != 1:
                raise self._wrong(text, ", ".join(self.choices))
            return near[0]
        return text

    def _number(self, text: str) -> int:
        if self.unlimited and text in ("unlimited", "-1" if self.has_zero else "0"):
            return MAX_NUMBER
        if self.automatic and text == "auto":
            return AUTOMATIC
        try:
            found = int(text, 0)
        except ValueError:
            found = -1
        if not self.least <= found < MAX_NUMBER:
            words = ("unlimited",) * self.unlimited + ("auto",) * self.automatic
            raise self._wrong(text, f"a number from {self.least}" + "".join(f", or {word}" for word in words))
        return found

    def _wrong(self, text: str, wanted: str) -> UsageError:
        return UsageError(f"{self.name} is {wanted}, not {text[:40]!r}", kind="bad_setting")

    def text(self, value: Any) -> str:
        """Return a value as a user reads it."""
        if isinstance(value, bool):
            return "on" if value else "off"
        if self.unlimited and value == MAX_NUMBER:
            return "unlimited"
        if self.automatic and value == AUTOMATIC:
            return "auto"
        if isinstance(value, tuple):
            return " ".join(value) or "none"
        return str(value) or "(none)"


def _asks(module: str, name: str) -> Callable[[str], object]:
    """Return a check by a function that refuses names, whose module is imported only then; ``auto`` is always right."""
    return lambda text: text == "auto" or getattr(import_module(f"dwarfgpu.{module}"), name)(text)


def _check_seed(text: str) -> None:
    if text != "off" and not text.isdigit():
        raise UsageError(f"weak-memory is off or a seed, a number from 0, not {text[:40]!r}", kind="bad_setting")


def _check_checks(text: str) -> None:
    from dwarfgpu.execution.checks.findings import check_names

    if text != "off":
        check_names(text, is_weak=False)


READING = ("dialect", "attributes", "repair")
"""The settings that say how the DWARF of files is read."""
SECTIONS = ("source", "locals", "lanes", "registers", "stack", "expressions")
"""The sections of the context view."""

# fmt: off
SETTINGS = (
    Setting("width", AUTOMATIC, "columns of the screen; auto is those of the terminal, or 80 without one",
            unlimited=True, automatic=True),
    Setting("height", AUTOMATIC, "lines of the screen; auto is those of the terminal", unlimited=True,
            automatic=True),
    Setting("pagination", True, "whether long output stops when the screen is full"),
    Setting("style enabled", True, "whether output has colours, where a terminal shows them", alias="style"),
    Setting("confirm", True, "whether a question is asked before something is lost"),
    Setting("scheduler-locking", "replay", "whether only the selected wave runs: on, or step for steps alone",
            choices=("off", "on", "step", "replay")),
    Setting("weak-memory", "off", "whether launched kernels have memory as weak as the model allows: a seed",
            check=_check_seed),
    Setting("check", "off", "the checks of launched kernels: all, or their names (`run --check`)",
            check=_check_checks),
    Setting("jit", "auto", "whether instructions are compiled: auto: if kernels run for long",
            choices=("auto", "on", "off")),
    Setting("agents", 1, "with weak memory: how many agents share the work-groups", least=1),
    Setting("verbose", False, "whether answers also show the value without a repair"),
    Setting("debug", False, "whether errors show where in dwarfgpu they come from"),
    Setting("editing-mode", "emacs", "the keys of the prompt", choices=("emacs", "vi")),
    Setting("history size", 10_000, "how many lines the history file keeps", unlimited=True),
    Setting("history save", True, "whether lines are kept for the next time"),
    Setting("history filename", "", "the history file; none is $XDG_STATE_HOME/dwarfgpu/history"),
    Setting("max-completions", 200, "how many completions are offered", unlimited=True),
    Setting("logging enabled", False, "whether output is also written to a file", alias="logging"),
    Setting("logging file", "dwarfgpu.txt", "the file that output is also written to"),
    Setting("logging overwrite", False, "whether a log overwrites its file; else it is appended"),
    Setting("logging redirect", False, "whether output goes to the log alone"),
    Setting("budget", DEFAULT, "what an answer may cost: steps of long evaluations and traces, parts of values",
            least=1, unlimited=True),
    Setting("backtrace limit", MAX_FRAMES, "how many frames of a wave are computed", least=1, unlimited=True),
    Setting("listsize", 10, "how many lines `list` shows", least=1, unlimited=True),
    Setting("print elements", 200, "how many elements of arrays and strings are shown", unlimited=True),
    Setting("print repeats", 10, "runs of equal elements longer than this are folded", unlimited=True),
    Setting("print max-depth", 20, "how many levels of nested structures are shown", unlimited=True,
            has_zero=True),
    Setting("print pretty", False, "whether each member of a structure is on a line of its own"),
    Setting("print raw-values", False, "whether C++ library objects are shown by their stored members"),
    Setting("print static-members", True, "whether static members are shown"),
    Setting("print frame-arguments", "auto", "what frames show as `...`: large structures and arrays (auto), all of "
            "these (scalars), each argument (none), or nothing (all)", choices=("auto", "scalars", "all", "none")),
    Setting("print symbol", True, "whether pointers show the symbol they point to"),
    Setting("context", "auto", "whether a change of focus shows the context view; auto is at the prompt of a terminal",
            choices=("auto", "on", "off")),
    Setting("context-sections", ("source", "locals", "lanes", "stack", "expressions"),
            "what the context view shows, in order", choices=SECTIONS, many=True),
    Setting("sysroot", "", "the root of the machine that core files are from; files of theirs are looked for there"),
    Setting("directories", "$cdir:$cwd", "where source files are looked for, in order"),
    Setting("disassembler", "", "the llvm-objdump, llvm-mc or objdump to use; none looks for one"),
    Setting("caller-registers", "listed", "which registers of callers count as kept without a rule: those of locations "
            "that hold after the call (listed, as in GDB), or none (saved)", choices=("listed", "saved")),
    Setting("repair", "auto", "which known mistakes of compilers are repaired: auto, all, off, or names",
            check=_asks("program.code.repairs", "policy_of")),
    Setting("dialect", "auto", "which bytes of expressions are which operation; auto is by the target",
            choices=("auto", "dwarf5", "gnu", "llvm-user", "llvm-legacy", "amdgpu-2020", "dwarf6"),
            check=_asks("dialects", "get")),
    Setting("attributes", "auto", "which numbers are LLVM's attributes and address classes; auto is by the producer",
            choices=("auto", "llvm-current", "llvm-21", "llvm-old", "amdgpu-2020"),
            check=_asks("program.code.code_object", "check_attributes")),
)
# fmt: on


class Settings:
    """The settings, with what they are now."""

    def __init__(self) -> None:
        self.declared = {setting.name: setting for setting in SETTINGS}
        self._values = {setting.name: setting.default for setting in SETTINGS}
        self.watchers: list[Callable[[str], None]] = []
        """Are told the name of each setting that changes."""

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def set(self, name: str, text: str) -> None:
        """Change a setting to what a user typed."""
        self._keep({name: self.declared[name].read(text.strip())})

    @contextmanager
    def lent(self, values: Mapping[str, str]) -> Iterator[None]:
        """Change settings for the time of a block; functions that watch them are called."""
        found = {name: self.declared[name].read(text.strip()) for name, text in values.items()}
        before = {name: self._values[name] for name in found}
        try:
            self._keep(found)
            yield
        finally:
            self._keep(before)

    def _keep(self, values: Mapping[str, Any]) -> None:
        self._values.update(values)
        for name in values:
            for watcher in self.watchers:
                watcher(name)

    def reset(self, name: str) -> None:
        """Change a setting back to its default, without a call of the functions that watch it."""
        self._values[name] = self.declared[name].default

    def find(self, text: str) -> tuple[str, str] | None:
        """Return the setting that a text begins with, abbreviated or not, and the rest; None if there is none."""
        words = text.split()
        for count in range(min(3, len(words)), 0, -1):
            meant = list(self._meant(words[:count]))
            if len(meant) == 1 or (meant and " ".join(words[:count]) == meant[0]):
                return meant[0], " ".join(words[count:])
        return None

    def _meant(self, words: list[str]) -> Iterator[str]:
        exact = " ".join(words)
        if exact in self.declared:
            yield exact
            return
        named = next((setting.name for setting in SETTINGS if setting.alias == exact), None)
        if named is not None:
            yield named
            return
        for name in self.declared:
            parts = name.split()
            if len(parts) == len(words) and all(part.startswith(word) for part, word in zip(parts, words, strict=True)):
                yield name

    def shown(self) -> Iterator[tuple[Setting, str]]:
        """Yield all settings with their values as text."""
        for name, setting in self.declared.items():
            yield setting, setting.text(self._values[name])
