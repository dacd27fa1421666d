"""What a question is about: a program, a machine that is attached, and the wave, frame and lane that are selected."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import evolve
from dwarfgpu.questions.registry import Arguments, operand, option
from dwarfgpu.questions.settings import READING, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.frames.answers import Values
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.reasons import Reason
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.questions.document import Output
    from dwarfgpu.render.backtrace import CallWriter
    from dwarfgpu.render.values import Look
    from dwarfgpu.render.variables import VariablesRenderer
    from dwarfgpu.states.program import Attached, Program

T = TypeVar("T")

# --- Its arguments at the shell ---------------------------------------------------------------------------------------

FILE = operand(
    "FILE",
    "a file, a source (k.cl, k.hip), a code object in a file (FILE@gfx90a, or FILE@2 by its index in `dwarfgpu ls`), a "
    "code object URI, or - for standard input",
)
MAYBE_FILE = operand("[FILE]", FILE.help)
MANY_FILES = operand("[FILE...]", "files, or code objects in them (FILE@gfx90a); or one file and a variable in it")
MAYBE_STATE = option(
    "-state S",
    "a snapshot, core files of the program FILE or of GPUs (repeatable), or the debug agent's text; may replace FILE",
    is_many=True,
)
STATE = option("-state S", MAYBE_STATE.help, is_required=True, is_many=True)
WAVE = option("-wave N", "the wave or thread, by its number from 1 or by its id")
FRAME = option("-frame N", "the frame number, 0 for the innermost (0); inlined frames count", read=int)
LANE = option("-lane N", "the lane, from 0 (the first active one)", read=int)
SYSROOT = option("-sysroot DIR", "the folder that holds the files of the machine that wrote the core file")
DIALECT = option(
    "-dialect D",
    "how operations are encoded: dwarf5, gnu, llvm-user, llvm-legacy, amdgpu-2020 or dwarf6 (that of the target)",
)
REPAIR = option("-repair R", "correct known compiler mistakes: auto, all, off, or names of repairs (auto)")
WAVES = option("-wave LIST", "waves or threads: numbers from 1, ids, or all")
PC = option("-pc A", "frames at an address, without a state: 0x1900, k, k+0x40 or k.hip:17")
FORCE = option("-force", "use a state even if its code object has changed")
ATTRIBUTES = option(
    "-attributes D",
    "how to read LLVM's attribute and address class numbers: llvm-current, llvm-21, llvm-old or amdgpu-2020 "
    "(by producer)",
)
READ_AS = (DIALECT, ATTRIBUTES, REPAIR)
"""How the DWARF of a file is read."""
STDIN_PART = "-@"
"""How a name begins that means an image in what standard input holds."""


class Selection:
    """What questions are about. Waves are kept as indices from 0; users number them from 1."""

    has_focus = False
    """Whether what is selected stays so from one question to the next, as in a debugger."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.settings = Settings()
        self.program: Program | None = None
        self.attached: Attached | None = None
        self.snapshot: Any = None
        """A machine that was opened without its program, for questions about its memory alone."""
        self.paths: tuple[str, ...] = ()
        """Files that a question opens by itself, because there are several."""
        self.given: str | None = None
        """FILE as the user named it; None without one."""
        self.wave_number: int | None = None
        """The index of the wave that is selected; None where there is none, or none of several is chosen."""
        self.frame_number = 0
        self.lanes: dict[int, int] = {}
        """The lane that is selected in each wave, as far as one was chosen."""
        self.stays = 0
        """How many questions bring back what was selected before them."""
        self.lacking: dict[str, Reason] = {}
        """The variables that the answer being written has no value of, and why."""
        self.told: set[str] = set()
        """What is said once and was said: settings of GDB without effect, ways to see what has no value."""
        self.substituted: dict[str, str] = {}
        """The beginnings of paths in the program, with what they are here (`set substitute-path`)."""
        self._states: dict[Any, Any] = {}
        self.host_calls: Callable[[], Sequence[str]] = tuple
        """Returns the calls of the host behind the waves, innermost first, where a whole program is debugged."""
        self.ask_host: Callable[[str], str] | None = None
        """Returns what GDB answers to a command about the host."""
        self.settings.watchers.append(self._setting_changed)

    # --- How files are read -----------------------------------------------------------------------------------------

    def reading(self) -> dict[str, Any]:
        """Return how the settings say that the DWARF of files is read, as `Program.read_as` takes it."""
        from dwarfgpu.states.program import policy_named

        dialect, attributes, repair = (self.settings[name] for name in READING)
        return {
            "dialect": None if dialect == "auto" else dialect,
            "attributes": None if attributes == "auto" else attributes,
            "repair": policy_named(repair),
        }

    def moved_files(self) -> dict[str, str]:
        """Return where the files of the machine are that a core file is from, by the beginnings of their paths."""
        root = os.path.expanduser(self.settings["sysroot"]).rstrip("/")
        return {"/": f"{root}/"} if root else {}

    def _setting_changed(self, name: str) -> None:
        if name in READING:
            self.read_anew()

    def read_anew(self) -> None:
        """Read the files that are open as the settings say now; what is selected stays."""
        if self.program is None:
            return
        program = self.program.read_as(**self.reading())
        if self.attached is not None:
            self.attached = self.attached.read_as(program)
        self.program = program

    def value_printer(self, _frame: Frame | None) -> Callable[[Object, Look, int], str | None] | None:
        """Return what writes values in the words of the debugger around this one; None without one."""
        return None

    # --- How values look ------------------------------------------------------------------------------------------

    def renderer(
        self, letter: str | None = None, *, frame: Frame | None = None, locations: bool = False
    ) -> VariablesRenderer:
        """Return what writes values as the settings say."""
        from dwarfgpu.render.variables import VariablesRenderer

        settings = self.settings
        found = VariablesRenderer(frame or self.frame, letter, locations=locations, verbose=settings["verbose"])
        found.look = evolve(
            found.look,
            elements=settings["print elements"],
            repeats=settings["print repeats"],
            depth=settings["print max-depth"],
            static_members=settings["print static-members"],
            is_raw=settings["print raw-values"],
            is_pretty=settings["print pretty"],
            symbol=found.look.symbol if settings["print symbol"] else None,
            printer=self.value_printer(found.frame) if letter is None else None,
        )
        return found

    def call_writer(self, frame: Frame, lane: int | None = None) -> CallWriter:
        """Return what writes frames with their arguments in a lane, or else in the selected one."""
        from dwarfgpu.render.backtrace import CallWriter

        look = evolve(self.renderer(frame=frame).look, is_pretty=False)
        lane = self.lane if lane is None else lane
        return CallWriter(lane or 0 if frame.has_lanes else None, look, self.settings["print frame-arguments"])

    # --- What is selected -----------------------------------------------------------------------------------------

    def use(self, program: Program, attached: Attached | None) -> None:
        """Select a program, and the wave of a machine that has crashed or the first one, in its innermost frame."""
        self.program = program
        self.attached = attached
        self.lanes.clear()
        self.wave_number = None if attached is None or not len(attached) else attached.stopped.crashed or 0
        self.frame_number = 0

    @property
    def opened(self) -> Program:
        """The program; an error if there is none."""
        if self.program is None:
            raise UsageError("no file is open", kind="no_file", hint="`file FILE` opens one")
        return self.program

    @property
    def code_file(self) -> CodeObject:
        """The file whose code the frame executes; without a state the one that is open."""
        code = None if self.attached is None else self.frame.code
        return self.opened.file if code is None else code.file

    @property
    def machine(self) -> Attached:
        """The machine; an error if there is none."""
        if self.attached is None:
            hint = "`target snapshot S` attaches a snapshot, `core S` a core file"
            raise UsageError("no state", kind="no_machine", hint=hint)
        return self.attached

    @property
    def wave(self) -> Wave:
        """The wave that is selected."""
        machine = self.machine
        if self.wave_number is None:
            if len(machine) and machine.has_waves:
                from dwarfgpu.program.frames.selectors import unchosen_wave

                raise unchosen_wave(machine.stopped.machine, machine.stopped.crashed)
            if len(machine):  # of threads the first is meant
                return machine[0]
            raise UsageError("the machine has no waves", kind="no_wave")
        return machine[self.wave_number]

    @property
    def seen_wave(self) -> Wave:
        """The wave that is selected, with the frames that its selected lane sees."""
        return self.wave.seen_by(self.lane)

    @property
    def frame(self) -> Frame:
        """The frame that is selected; without a state the program as a whole."""
        if self.attached is None:
            return self.opened.outside
        return self.seen_wave.frame(self.frame_number)

    @property
    def lane(self) -> int | None:
        """The chosen lane, else the first that missed memory, else the first active one; None without lanes."""
        if self.attached is None or self.wave_number is None or not self.attached.has_waves:
            return None
        chosen = self.lanes.get(self.wave_number)
        if chosen is not None:
            return chosen
        stop = self.wave.stop
        try:
            mask = (stop and stop.lanes) or self.wave.frame(0).active_mask
        except DwarfGpuError:  # the place of the wave is not known
            mask = None
        return (mask & -mask).bit_length() - 1 if mask else 0

    @property
    def memory(self) -> Any:
        """The machine whose memory is asked about, with its program or without."""
        return self.machine.stopped.machine if self.snapshot is None else self.snapshot

    @property
    def noun(self) -> str:
        """What a user calls the waves of the machine: ``wave`` or ``thread``."""
        from dwarfgpu.program.frames.selectors import noun

        return noun(self.machine.stopped.machine)

    def lanes_of(self, arguments: Arguments, default: str | None = None) -> list[int] | str | None:
        """Return the lanes that options name, else ``default`` or the selected one; without focus the active ones."""
        if names_lanes(arguments):
            text = arguments.get("lane")
            self.needs_lanes()
            if arguments.has("all") or text == "all":
                return "all"
            if text is None or text == "active":
                return "active"
            from dwarfgpu.program.frames import selectors

            return selectors.lanes_of(text, self.opened.target.lane_count)
        if self.attached is None:
            return None
        if not self.has_focus:
            return "active"
        return self.selected_lanes if default is None or self.lane is None else default

    @property
    def selected_lanes(self) -> list[int] | None:
        """The selected lane alone; None where there are no lanes."""
        return None if self.lane is None else [self.lane]

    def asked(self, text: str, lanes: list[int] | str | None) -> Values:
        """Return what an expression is, in some lanes."""
        from dwarfgpu.program.frames.answers import answer

        return answer(self.frame.quantity(text), text, lanes)

    def repaired(self, repair: str | None) -> tuple[Program, Attached | None]:
        """Return the program and the machine, with other repairs applied."""
        program, attached = self.opened, self.attached
        if repair is None:
            return program, attached
        from dwarfgpu.program.code.repairs import policy_of
        from dwarfgpu.program.frames.history import Remembered

        policy = policy_of(repair)
        if policy == program.repair:
            return program, attached
        program = program.read_as(dialect=program.dialect, attributes=program.file.attributes, repair=policy)
        if attached is not None:
            attached = attached.read_as(program)
        (program if attached is None else attached).state.remembered = self.state_of(Remembered)
        return program, attached

    def needs_lanes(self) -> None:
        """Raise an error on a machine whose threads have no lanes."""
        if not self.machine.has_waves:
            message = f"threads of {self.machine.state.target.name} have no lanes"
            raise UsageError(message, kind="no_lane", hint="`bt` shows the frames of a thread")

    def needs_lane(self, number: int) -> None:
        """Raise an error for a lane that the threads of the machine do not have."""
        if not self.machine.has_waves or not 0 <= number < self.machine.state.target.lane_count:
            raise UsageError(f"Lane {number} does not exist on this thread.", kind="no_lane")

    def state_of(self, kind: Callable[[], T]) -> T:
        """Return what questions of one kind keep from one time to the next; it is made at the first."""
        if kind not in self._states:
            self._states[kind] = kind()
        state: T = self._states[kind]
        return state

    @property
    def problems(self) -> tuple[DwarfGpuError, ...]:
        """What has been found broken so far in the files and in the state."""
        if self.attached is not None:
            return self.attached.problems
        return () if self.program is None else self.program.problems

    # --- Changing it ----------------------------------------------------------------------------------------------

    def select_wave(self, number: int) -> None:
        """Select a wave by its index, in its innermost frame."""
        self.machine[number].frame(0)  # one that has none is not selected
        self.wave_number = number
        self.frame_number = 0
        self.moved()

    def select_frame(self, number: int) -> None:
        """Select a frame of the wave."""
        self.seen_wave.frame(number)
        self.frame_number = number
        self.moved()

    def select_lane(self, number: int) -> None:
        """Select a lane of the wave."""
        self.wave  # noqa: B018 (an error where none of several is chosen)
        self.needs_lane(number)
        assert self.wave_number is not None  # noqa: S101 (there is a wave)
        self.lanes[self.wave_number] = number
        self.moved()

    @contextmanager
    def staying(self) -> Iterator[None]:
        """Select what was selected before again at the end, and tell nobody of what was selected meanwhile."""
        before = self.wave_number, self.frame_number, dict(self.lanes)
        self.stays += 1
        try:
            yield
        finally:
            self.stays -= 1
            self.wave_number, self.frame_number, self.lanes = before

    def moved(self) -> None:
        """Take note that something else is selected."""


def names_lanes(arguments: Arguments) -> bool:
    """Return whether options name lanes."""
    return any(map(arguments.has, ("lane", "all", "active")))


# --- A selection as a command line says it ----------------------------------------------------------------------------


def select(
    selection: Selection,
    options: Mapping[str, Any],
    read: Callable[[str], str] | None = None,
    *,
    opening: Callable[[str, str | None], CodeObject] | None = None,
) -> None:
    """Select what the options of a command line name; of several waves without a name none is selected."""
    from dwarfgpu.states.program import Attached, Program, open_core, paths_of

    for name in (*READING, "sysroot"):
        if options.get(name) is not None:
            selection.settings.set(name, options[name])
    moved = selection.moved_files()
    state = options.get("state")
    if isinstance(options.get("file"), tuple):
        selection.paths = options["file"]
        return
    if options.get("file") is None:
        from dwarfgpu.states.opening import names_its_code, open_snapshot

        if state is not None and names_its_code(paths_of(state), moved):
            repairs = selection.settings["repair"]
            attached = open_core(state, dialect=options.get("dialect"), repair=repairs, moved=moved)
            selection.use(attached.program, attached)
            _focus(selection, options)
        elif state is not None:
            hint = "the question needs a snapshot: a state with a schema"
            path = one_state(state)
            selection.snapshot = open_snapshot(path, read, force=bool(options.get("force")), hint=hint)
        return
    selection.given = options["file"]
    reading = selection.reading()
    file = (opening or open_file)(options["file"], reading["attributes"])
    repair = reading["repair"]
    program = Program(file, dialect=reading["dialect"], repair=repair)
    if state is None:
        selection.use(program, None)
        for name in ("wave", "frame", "lane", "sysroot"):
            if options.get(name) is not None:
                raise needs_state(name)
        return
    from dwarfgpu.states.opening import open_stopped
    from dwarfgpu.states.stopped import OpenOptions

    how = OpenOptions(bool(options.get("force")), program.dialect, repair, moved or {})
    attached = Attached(program, open_stopped(file, state, read, how))
    selection.use(program, attached)
    _focus(selection, options)


def needs_state(option: str) -> UsageError:
    """Return the error of an option that means something only with a state."""
    return UsageError(f"--{option} needs a state", hint="--state names a snapshot or a core file")


def one_state(state: str | Sequence[str]) -> str:
    """Return the only name of a state; several are the core files of one crash."""
    if isinstance(state, str):
        return state
    raise UsageError("several --state options must name the core files of one crash", hint="give one --state")


def _focus(selection: Selection, options: Mapping[str, Any]) -> None:
    attached = selection.machine
    if options.get("wave") is not None:
        from dwarfgpu.program.frames.selectors import wave_named

        selection.wave_number = wave_named(attached.stopped.machine, options["wave"])
    elif len(attached) > 1:
        selection.wave_number = None
    if options.get("frame") is not None:
        selection.select_frame(options["frame"])
    if options.get("lane") is not None:
        selection.select_lane(options["lane"])


def open_file(name: str, attributes: str | None = None) -> CodeObject:
    """Open the file, or the image in one, that a command line names."""
    from dwarfgpu.program.code.code_object import opened

    return opened(**source_of(name), attributes=attributes)


def source_of(name: str) -> dict[str, Any]:
    """Return what to open: a name, or what standard input holds and which image of that is meant."""
    part = name.lstrip()
    if name == "-" or part.startswith(STDIN_PART):
        image = None if name == "-" else part.removeprefix(STDIN_PART)
        return {"source": sys.stdin.buffer.read(), "select": image, "name": "<stdin>"}
    return {"source": name}


def text_or_input(word: str) -> str:
    """Return a word of a command line, or what standard input holds for ``-``."""
    return sys.stdin.buffer.read().decode(errors="replace") if word == "-" else word
