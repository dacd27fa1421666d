"""The table of commands: all there are, in the order in which help and pages show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.immutable import evolve
from dwarfgpu.questions.document import Document, listing
from dwarfgpu.questions.registry import (
    CONVERT,
    EXECUTE,
    JUDGE,
    LETTERS,
    LOOK,
    START,
    command,
    operand,
    option,
    question,
    setting_option,
    shell,
)
from dwarfgpu.questions.selection import (
    ATTRIBUTES,
    DIALECT,
    FILE,
    FORCE,
    FRAME,
    MANY_FILES,
    MAYBE_FILE,
    MAYBE_STATE,
    PC,
    READ_AS,
    REPAIR,
    STATE,
    SYSROOT,
    WAVE,
    WAVES,
    text_or_input,
)
from dwarfgpu.questions.settings import SETTINGS
from dwarfgpu.render.layout import Record, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dwarfgpu.questions.registry import Argument, Arguments
    from dwarfgpu.questions.selection import Selection

FILES = "files and machines"
RUN = "running kernels"
FOCUS = "waves, lanes and frames"
DATA = "data"
SOURCE = "source and code"
DEBUG = "debugging information"
SUPPORT = "the debugger itself"

GROUPS = (FILES, RUN, FOCUS, DATA, SOURCE, DEBUG, SUPPORT)

LANES = option("-lane LIST", "in these lanes: 3, 0-7,12, active or all")
EVERY_LANE = option("-all", "in all lanes, including inactive ones")
EVERYWHERE = option("-all", f"{EVERY_LANE.help}; without a state: every location, valid here or not")
ACTIVE_LANES = option("-active", "in the active lanes")
LOCATION = option("-location", "also show where each value is")
VERBOSE = option(
    "-verbose", "also show the value without repairs", setting=next(each for each in SETTINGS if each.name == "verbose")
)
ENCODING = (
    option("-target T", "generic, x86_64, amdgcn-gfx90a, amdgcn-gfx1100-wave32, ..."),
    DIALECT,
    option("-address-size N", "bytes of an address of the target generic (8)", read=int),
    option("-byte-order O", "the byte order of the target generic: little or big (little)", choices=("little", "big")),
    option("-offset-size N", "bytes of a DWARF offset: 4 for 32-bit DWARF, 8 for 64-bit DWARF (4)", read=int),
    option("-dwarf-version N", "the DWARF version of the unit (5)", read=int),
)
"""What an encoding depends on: the same options for every question that reads expressions."""
WANT = option("-want KIND", "the kind the result must have: value or location", choices=("value", "location"))
ALONE = (
    option("-rules R", "the rules of operations: dwarf5, amd (the heterogeneous extension) or dwarf6 (the target's)"),
    WANT,
    option("-read WHAT", "also read the result: a number of bytes, or a type such as float32"),
    option("-write BYTES", "write bytes to the result first"),
    option("-stack", "show the whole final stack, the top last"),
    *(each for each in ENCODING if each.flag != DIALECT.flag),
)
"""Options of an expression of DWARF that is evaluated without a program."""
SIZES = (
    option("-grid X,Y,Z", "the work-items of the grid, in up to three dimensions", is_required=True),
    option("-work-group X,Y,Z", "the work-items of a work-group (the size that the kernel requires, or Triton's)"),
    option("-cluster X,Y,Z", "the work-groups of a cluster on GFX12.5 (those that the kernel requires, or 1)"),
)
"""What a launch is for: the same options for every question and command that launches a kernel."""
MORE_MEMORY = (
    option("-global-offset X,Y,Z", "what is added to the global IDs of OpenCL's work-items (0,0,0)"),
    option(
        "-private-size N", "bytes of private memory per work-item, if the stack needs more than the kernel asks for"
    ),
    option("-dynamic-local N", "bytes of local memory to add to each work-group (0)"),
    option("-padding N", "bytes without memory before and after each buffer (65536)"),
)
PERMISSIVE = option(
    "-permissive", "let accesses beyond the ends of local and private memory read 0 and store nothing, instead of "
                   "faults, and leave no padding between buffers"
)  # fmt: skip
LIMIT = option("-limit N", "stop after N wave instructions", read=int)
SEED = option("-seed N", "shuffle the order of waves and work-groups with this seed", read=int)
AT_ONCE = option(
    "-at-once N",
    "how many waves run at a time; each of the others starts when one ends (as many as fit in a gigabyte)",
    read=int,
)


def findings_of(rule: str, counted: str) -> tuple[Argument, ...]:
    """Return the options that say how findings are chosen and written; ``rule`` is one of them, as an example."""
    part = rule.partition("-")[0]
    return (
        option(
            "-ignore LIST",
            f"leave out findings of these rules ({rule}), of all rules that begin so ({part}), `idioms` (known "
            "compiler mistakes), or `limits` (idioms, and information that the compiler never writes)",
            is_many=True,
        ),
        option("-only LIST", "show only these findings, named as for -ignore", is_many=True),
        option("-severities FILE", f"a file of lines such as `{rule} note`; the severities are error, warning, note "
                                   "and off"),
        option("-strict", "count idioms and limits, too (see -ignore)"),
        option("-require N", f"exit with 3 if fewer than N {counted} were checked", read=int),
        option("-baseline FILE", "leave out findings that FILE, an earlier JSON answer, already has"),
        option("-all", "show every finding, not only the first few of each rule"),
        option("-verbose", "also show each finding that does not count"),
        option("-sarif", "write a SARIF 2.1.0 log"),
    )  # fmt: skip


FINDINGS = findings_of("entry-string", "entries")
"""The names are the same for every check."""
CHECK = option(
    "-check KINDS",
    "find data races (race), missed barriers (barrier), missing waits (wait), accesses outside buffers "
    "(bounds), misaligned accesses (align) and uninitialized values (init); --check: all of these. nan finds NaNs and "
    "infinities that are made of numbers",
    bare="all",
)
CLOSED = (
    option("-read-only NAME", "with --check: a buffer that must not be written; repeatable", is_many=True),
    option("-write-only NAME", "with --check: a buffer that must not be read; repeatable", is_many=True),
)
OF_CHECKS = tuple(
    evolve(each, help=f"with --check: {each.help}")
    for each in (
        option("-max-findings N", "show at most N findings (10)", read=int),
        option("-suppress FILE", "leave out findings; lines of FILE: a check or *, then function=, line=, variable="),
        option("-ignore LIST", "leave out rules (race-same-value), or checks", is_many=True),
        option("-only LIST", "only these rules, or checks", is_many=True),
        option("-severities FILE", "lines such as `race-same-value error`: error, warning, note, off"),
        option("-baseline FILE", "leave out findings that FILE, an earlier JSON answer, already has"),
        option("-require N", "exit with 3 if fewer than N instructions were executed", read=int),
        option("-sarif FILE", "also write the findings as a SARIF 2.1.0 log"),
        option("-html FILE", "also write the findings as an HTML page"),
        option("-error-exitcode N", "the exit status if there are errors or warnings (1)", read=int),
    )
)
"""How findings of the checks of a run are chosen and written."""
EXPLAIN = option("-explain RULE", "explain the rule of a finding, and how to fix it")
FORMATS = ("speedscope", "chrome", "pprof")
"""The formats of profiles."""
STRUCTURES = ("queue", "signal", "packet", "kernel-code", "kernel-descriptor", "buffer")
PRINT = tuple(setting_option(each) for each in SETTINGS if each.name.startswith("print "))
FRAME_ARGUMENTS = tuple(each for each in PRINT if each.flag == "-frame-arguments")
VALUE = tuple(each for each in PRINT if each not in FRAME_ARGUMENTS)
QUIET = option("-q", "print nothing if there are none")
OF_TYPE = option("-t REGEXP", "only those whose type matches")
DEBUGGED = option("-n", "leave out names without debugging information")
DATA_FORMAT = LETTERS


# --- Questions that are a list of what another layer knows ----------------------------------------------------------


def sources(selection: Selection, arguments: Arguments) -> Document:
    files, pattern = selection.frame.state.sources, arguments.pattern()
    by_code: dict[str, dict[str, None]] = {}
    for code, unit in files.units():
        known = (file.path for file in files.of_unit(code, unit) if pattern.search(file.path))
        by_code.setdefault(code.file.name, {}).update(dict.fromkeys(known))

    def lines(_rows: Sequence[tuple[str, str]]) -> Iterator[str]:
        for name, paths in by_code.items():
            yield f"{shown(name)}:"
            yield from (f"  {shown(path)}" for path in paths or ("(no source files)",))

    rows = [(name, path) for name, paths in by_code.items() for path in paths]
    return listing("sources", Record("file=0 path=1"), rows, lines)


# --- The table ------------------------------------------------------------------------------------------------------

# fmt: off
# A row is two or three lines, so that the table can be read as one.
COMMANDS = (
    # --- Prefixes: by themselves they list what follows ---------------------------------------------------------
    command("info", "facts about the program and the machine", "", group=SUPPORT, aliases="i inf"),
    command("maint", "internals, for developers of compilers and debuggers", "", group=DEBUG,
            aliases="maintenance mt"),
    command("maint print", "show debugging information as it is", "", group=DEBUG, aliases="p"),
    command("maint info", "show what a file is made of", "", group=DEBUG, aliases="i"),
    command("macro", "macros of the source", "", group=SOURCE),
    command("save", "write the state to a file", "", group=FILES),
    command("unset", "undo a setting", "", group=SUPPORT),
    command("target", "attach a machine", "", group=FILES),
    # --- Files and machines -------------------------------------------------------------------------------------
    command("file", "open a file of code", "files.open_code", group=FILES, operands="FILE",
            help="FILE is a code object or a host program: FILE, FILE@gfx90a, FILE@2, or a code object URI. The "
                 "attached machine is detached."),
    command("core-file", "attach a snapshot, a core file of the program, or core files of GPUs", "files.attach",
            group=FILES, aliases="core", operands="FILE...",
            options=(option("-force", "even if the code object has changed"),),
            help="FILE is a snapshot (.json or .dgs) of waves that execute the open file, a core file of the "
                 "program, or the text of the ROCm debug agent. Core files of GPUs need no code file: name the "
                 "GPU's, a merged one, or the host's and the GPU's. CORE@gfx90a chooses a processor, CORE@host the "
                 "threads of the host."),
    command("target snapshot", "attach a snapshot or core files", "files.attach", group=FILES, aliases="core record",
            operands="FILE...", options=(option("-force", "even if the code object has changed"),),
            help="FILE is a snapshot (.json or .dgs) of waves that execute the open file, a core file of the "
                 "program, or the text of the ROCm debug agent. Core files of GPUs need no code file: name the "
                 "GPU's, a merged one, or the host's and the GPU's. CORE@gfx90a chooses a processor, CORE@host the "
                 "threads of the host."),
    command("target launch", "launch a kernel, and stop its waves at the first instruction", "files.launch",
            group=FILES, aliases="sim", operands="KERNEL GRID WORK-GROUP [ARG...]", completes="launch",
            options=(*MORE_MEMORY, PERMISSIVE),
            help="GRID and WORK-GROUP are one to three sizes in work-items: 256, or 64,64,1. Arguments of the kernel "
                 "follow, by position or as NAME=VALUE: numbers, or bytes such as bytes:0a0b; without arguments all "
                 "are 0. The kernel replaces the attached state."),
    # --- Running kernels ----------------------------------------------------------------------------------------
    question("run", "run the launched kernel, from its beginning", "execution.run_", group=RUN, aliases="r",
            repeats="nothing",
            help="Run the kernel that `target launch` has started. If it has already run, launch it again with the "
                 "same arguments. Breakpoints and watchpoints stay; a watchpoint of a function's variable waits for "
                 "the same call."),
    question("start", "run the launched kernel to its first line", "execution.run_", group=RUN,
            repeats="nothing", help="A temporary breakpoint at the kernel stops after its prologue."),
    command("kill", "end the launched kernel", "execution.kill", group=RUN, aliases="k",
            help="The machine is detached; `run` launches the kernel again."),
    question("continue", "continue running", "execution.continue_", group=RUN, aliases="c cont fg", operands="[N]",
            repeats="onwards", help="With N, the breakpoint where they are does not stop them the next N-1 times."),
    question("step", "run to another line, into functions that are called", "execution.step", group=RUN,
            aliases="s", operands="[N]", help="It stops at the beginning of another line, also in a called function."),
    question("next", "run to another line of the function, over calls", "execution.step", group=RUN, aliases="n",
            operands="[N]", help="Called functions are executed as a whole."),
    question("stepi", "execute one instruction of the wave", "execution.step", group=RUN, aliases="si",
             operands="[N]",
            help="The selected wave executes N instructions. Other waves also run, unless `set scheduler-locking "
                 "on`."),
    question("nexti", "execute one instruction of the wave, or a whole call", "execution.step", group=RUN,
            aliases="ni", operands="[N]", help="Called functions are executed as a whole."),
    question("finish", "run until the function has returned", "execution.finish", group=RUN, aliases="fin",
            help="It stops where the selected function has returned, and shows the returned value of the lane, if "
                 "the calling convention says where it is."),
    question("until", "run to a place, or to a later line", "execution.until", group=RUN, aliases="u",
            operands="[PLACE]",
            help="Without a place it is a `next` that does not go back in a loop. With a place it stops there, or "
                 "where the function has returned."),
    question("advance", "run to a place", "execution.advance", group=RUN, operands="PLACE",
            help="It stops at the place, or where the function has returned."),
    question("jump", "continue at another place", "execution.jump", group=RUN, aliases="j", operands="PLACE",
            repeats="nothing", help="The selected wave continues at the place; its registers stay as they are."),
    question("reverse-continue", "run backwards to the previous stop", "execution.reverse_continue",
            group=RUN, aliases="rc",
            help="It stops where a wave has last reached a breakpoint or changed a watched value; if there is no such "
                 "place, at the launch. In a whole program it goes on into the launches before; without breakpoints "
                 "it goes to the beginning of a launch, one at a time."),
    question("reverse-step", "go back to the line before", "execution.step", group=RUN, aliases="rs",
            operands="[N]", help="It stops at the beginning of the line, or of the line executed before it."),
    question("reverse-next", "go back to the line before, over calls", "execution.step", group=RUN,
            aliases="rn", operands="[N]", help="Called functions are passed as a whole."),
    question("reverse-stepi", "go back one instruction of the wave", "execution.step", group=RUN,
             aliases="rsi", operands="[N]",
            help="The selected wave, and the whole machine, are as they were N instructions ago."),
    question("reverse-nexti", "go back one instruction of the wave, or a whole call",
            "execution.step", group=RUN, aliases="rni", operands="[N]",
            help="Called functions count as one instruction."),
    question("reverse-finish", "go back to the call of the function", "execution.step", group=RUN,
            help="It stops at the call of the function."),
    question("history", "the values of an expression since the launch, or the lines that were typed",
            "value_history.history", group=RUN, operands="[EXPR | N]",
            options=(option("-to FILE", "write them to FILE.csv or FILE.npz (numpy)"),
                     option("-wave N", "in this wave"), option("-lane N", "in this lane", read=int),
                     option("-all", "in all lanes of all waves")),
            help="Run the kernel once more, up to here, and show the values of an expression in the selected lane: a "
                 "row for each line that has changed them. They are read where a line begins, and where the waves "
                 "are now; changes in between are not shown. With -wave and no -lane, all lanes are shown. "
                 "Without an expression, show the last N commands that you typed (10)."),
    command("break", "stop waves at a place", "breakpoints.break_", group=RUN, aliases="b br",
            operands="[PLACE] [if EXPR]", completes="stop",
            help="PLACE is a line, FILE:LINE, a function or *ADDRESS; the default is the pc of the selected frame. "
                 "`LINE -all` is each place where the line begins, also in unrolled loops; `if EXPR` stops if EXPR "
                 "is true in an active lane."),
    command("tbreak", "stop waves at a place, once", "breakpoints.break_", group=RUN, aliases="tb",
            operands="[PLACE] [if EXPR]", completes="stop", help="It is deleted after it has stopped waves."),
    command("dprintf", "print a text in the lanes that reach a place, and continue", "breakpoints.dprintf", group=RUN,
            operands='PLACE,"TEXT"[, EXPR...]',
            help="The lanes that reach the place print as `printf` does, and continue. A wave prints once if the "
                 "text is the same in all these lanes; otherwise each lane prints, in order. `$_lane` is the number "
                 "of the lane. A lane in which an expression has no value prints why. `condition` limits it. Going "
                 "back prints nothing."),
    command("watch", "stop when a value changes", "breakpoints.watch", group=RUN, aliases="wa",
            operands="EXPR [if EXPR]",
            help="It stops when the value of the expression in the selected lane has changed, whatever has changed "
                 "it. If the value is in memory, that memory is watched from now on, as with GDB's -location, which "
                 "is accepted. With `if EXPR` it stops only if the expression is true in that lane after the change, "
                 "also on the way back."),
    command("rwatch", "stop when memory is read", "breakpoints.watch", group=RUN, operands="EXPR [if EXPR]",
            help="It stops when a lane has read the memory of the expression."),
    command("awatch", "stop when memory is read or written", "breakpoints.watch", group=RUN, operands="EXPR [if EXPR]",
            help="It stops when a lane has read or written the memory of the expression."),
    command("catch", "give stops at faults or traps a breakpoint number", "breakpoints.catch", group=RUN,
            operands="fault|trap", completes="caught",
            help="Waves stop at faults and traps in any case; a catchpoint has a number, a count and commands."),
    question("info breakpoints", "the breakpoints, watchpoints and catchpoints", "breakpoints.info_breakpoints",
            group=RUN, aliases="watchpoints b", operands="[N...]", completes="breakpoint",
            help="Their numbers, kinds, places, conditions, and how often they were hit."),
    command("delete", "remove breakpoints", "breakpoints.delete", group=RUN, aliases="d", operands="[N...]",
            completes="breakpoint",
            help="By numbers as `info breakpoints` shows them, such as 1 3-5; without a number all breakpoints."),
    command("clear", "remove the breakpoints at a place", "breakpoints.clear", group=RUN, operands="[PLACE]",
            completes="place", help="PLACE is that of `break`; the default is the line of the selected frame."),
    command("enable", "enable breakpoints", "breakpoints.enable", group=RUN, operands="[N...]", completes="breakpoint",
            help="By numbers; without a number all of them."),
    command("disable", "disable breakpoints", "breakpoints.enable", group=RUN, operands="[N...]",
            completes="breakpoint", help="They stop no wave until `enable`."),
    command("condition", "stop at a breakpoint only if an expression is true in a lane", "breakpoints.condition",
            group=RUN, operands="N [EXPR]", completes="breakpoint",
            help="Without an expression, the condition is removed."),
    command("ignore", "ignore the next COUNT hits of a breakpoint", "breakpoints.ignore", group=RUN, operands="N COUNT",
            completes="breakpoint", help="The breakpoint stops no wave the next COUNT times."),
    command("commands", "run the lines up to `end` each time a breakpoint stops waves", "breakpoints.commands",
            group=RUN, operands="[N]", completes="breakpoint",
            help="The lines up to `end` run each time the breakpoint has stopped waves; without a number they belong "
                 "to the last breakpoint. If the first line is `silent`, the stop is not shown. Lines after a "
                 "command that runs the kernel are left out."),
    command("save snapshot", "save the machine as it is now", "files.save_snapshot", group=FILES, operands="FILE",
            gdb="snapshot",
            help="A name that ends in .dgs is a folder of arrays, any other name a JSON file. The snapshot contains "
                 "what you have written to registers and memory. An existing file is not overwritten."),
    command("generate-core-file", "save the machine as a core file, which ROCgdb reads too", "files.generate_core_file",
            group=FILES, aliases="gcore", operands="[FILE]",
            options=(option("-pair", "write the parts of host and GPU"), option("-gpu", "write the part of the GPU"),
                     option("-version N", "the version of the runtime, 8 to 12: ROCgdb of 2024 reads 8 to 10, "
                            "of 2026 only 12", choices=("8", "9", "10", "11", "12"))),
            help="The default FILE is core.PID, one core file with everything, as ROCgdb writes it. With -pair FILE "
                 "is the host's part and FILE.gpu the GPU's, with -gpu FILE is the GPU's part alone. The version of "
                 "the runtime is that of the attached core file, or 12. Unknown registers become 0. An existing file "
                 "is not overwritten."),
    question("info sharedlibrary", "the files of code that are loaded, and where", "files.info_sharedlibrary",
             group=FILES, aliases="dll files target", operands="[REGEXP]",
             shell=shell(LOOK, "files", FILE, MAYBE_STATE, SYSROOT, FORCE,
                         operand("[REGEXP]", "searched in their names")),
             help="From and To are the addresses of each file's instructions; without a state, those for which it was "
                  "linked."),
    question("info launches", "the launches of a program that is debugged as a whole", "programs.info_launches",
             group=FILES, help="Each with its kernel, its sizes, and the line of the host that has launched it."),
    question("host", "the call stack of the host, or GDB's answer about it", "programs.host", group=FILES,
             operands="[COMMAND]", help="Works after `dwarfgpu debug --args PROGRAM`. Without COMMAND, show the call "
             "stack of the host, without the wrappers of its runtime. With COMMAND, such as `host print n` or `host "
             "info locals`, GDB answers in the innermost of these frames; `host #1 print n` is about another one. At a "
             "stop of the host, where no kernel is, `print` asks GDB, too."),
    question("info machine", "the machine that executes a launched kernel, and what of it is compiled",
             "execution.info_machine", group=FILES,
            help="Kernels that run for long become machine code of the host. "
                 "`set jit` chooses when."),
    question("info checkpoints", "the checkpoints of a launched kernel, from which it goes back",
             "execution.info_checkpoints", group=FILES,
             help="How many there are, the memory that they take, and how far back they reach. They are made as the "
                  "kernel runs, so that they cost about 1% of its time."),
    question("info agents", "the GPUs (agents) of the machine", "files.info_agents", group=FILES,
             shell=shell(LOOK, "agents", FILE, STATE, SYSROOT, FORCE),
            help="Each with its architecture, how many lanes its waves have, and how many waves there are. State A "
                 "is active."),
    question("info dispatches", "the kernel dispatches", "files.info_agents", group=FILES,
             shell=shell(LOOK, "dispatches", FILE, STATE, SYSROOT, FORCE),
            help="Sizes are in work-items. Fence is what the packet requires: B a barrier, A and R an acquire and a "
                 "release fence, each with its scope (a agent, s system)."),
    question("info dispatch", "what the wave was launched with: kernel, grid, work-items", "launching.info_dispatch",
             group=FILES,
             shell=shell(LOOK, "dispatch", FILE, STATE, SYSROOT, WAVE, FORCE,
                         examples=("dwarfgpu dispatch k.co --state stopped.json --wave 1",
                                   "dwarfgpu dispatch k.co --state stopped.json --wave 3 --json")),
            help="The kernel, the grid, the address of the arguments and how it is known, and the work-items of the "
                 "wave. `info kernel-args` shows all arguments, `info dispatches` lists all dispatches."),
    question("info kernel-args", "the arguments that the kernel was launched with", "launching.info_kernel_args",
             group=FILES,
             shell=shell(LOOK, "kernel-args", FILE, STATE, SYSROOT, WAVE, FORCE,
                         examples=("dwarfgpu kernel-args k.co --state stopped.json",
                                   "dwarfgpu kernel-args k.co --state core --wave 2 --json")),
            help="Each with its offset in the kernarg segment, including those that the runtime adds (hidden). The "
                 "values are those of the launch, even if the kernel has changed its parameters; in a snapshot or "
                 "core file they are the present contents of the segment."),
    question("info queues", "the queues of the dispatches", "files.info_agents", group=FILES,
             shell=shell(LOOK, "queues", FILE, STATE, SYSROOT, FORCE),
            help="Read and Write are numbers of packets, Size is in bytes. They are known if the state contains the "
                 "memory of the queue."),
    question("info kernels", "the kernels of the file and what each needs", "files.info_kernels",
             group=FILES, operands="[NAME...]", options=(option("-fields", "show every field of the descriptors"),),
             shell=shell(LOOK, "kernels", FILE, operand("[NAME...]", "the name or symbol of a kernel"),
                         examples=("dwarfgpu kernels k.co", "dwarfgpu kernels k.co saxpy",
                                   "dwarfgpu kernels a.out@gfx90a --json")),
            help="Their arguments, registers and segments. With NAME or -fields, also every field of the descriptor "
                 "and the arguments that the runtime passes. NAME is the name or symbol of a kernel, or a regular "
                 "expression that is searched in all names."),
    question("info file", "what the file is, what is at an address, or what a name means", "files.info_file",
             group=FILES,
             options=(option("-pc ADDR", "0x1900, k, k+0x10 or k.hip:17; repeatable", is_many=True),
                      option("-name NAME", "a name, as f, ns::f or _Z1fv; repeatable", is_many=True),
                      option("-units", "also list the units")),
             shell=shell(START, "info", FILE, ATTRIBUTES,
                         examples=("dwarfgpu info k.co", "dwarfgpu info a.out@gfx90a --pc saxpy+0x10",
                                   "dwarfgpu info k.co --name f")),
            help="Target, versions, units, producers and sections, and the missing information.\n\n"
                 "With -pc: function, source line and inlined calls at an address, the innermost call first. With "
                 "-name: the functions, variables, types and symbols with this name."),
    question("info images", "the code objects in a file", "files.info_images", group=FILES, operands="[FILE]",
             shell=shell(LOOK, "ls", operand("NAME", FILE.help),
                         examples=("dwarfgpu ls a.out", "dwarfgpu ls --json a.out", "dwarfgpu ls ~/.triton/cache",
                                   "dwarfgpu info a.out@gfx90a")),
            help="Their index, kind, target, offset, size and format. FILE@INDEX or FILE@TARGET names a code object "
                 "in any command.\n\n"
                 "An offset with a + is an offset in the decompressed bundle.\n\n"
                 "Of a folder, such as Triton's cache, the kernels in its .hsaco and .co files, the newest first."),
    question("maint snapshot", "convert, check or summarise a snapshot", "files.snapshot",
             group=FILES, operands="convert|check|info FILE [NEW]", repeats="nothing",
             options=(option("-force", "convert even if code objects have changed"),
                      option("-waves LIST", "convert only these waves of a GPU core file, such as 1,4-7 (all)"),
                      option("-memory LIST", "memory to keep of a GPU core file: stack,lds,args,reachable:N, none "
                                             "(stack,lds,args)")),
             shell=shell(CONVERT, "snapshot", SYSROOT, operand("ACTION", "convert, check or info"),
                         operand("NAMES...", "a snapshot; for convert also the new name"),
                         examples=("dwarfgpu snapshot convert stopped.json stopped.dgs",
                                   "dwarfgpu snapshot check stopped.dgs", "dwarfgpu snapshot info stopped.dgs",
                                   "dwarfgpu snapshot convert gpucore.1234 small.dgs --waves 1-10")),
            help="`convert FILE NEW` writes a snapshot as NEW, `check FILE` reports what is wrong with it, `info "
                 "FILE` summarises it.\n\n"
                 "A name that ends in .dgs is a folder of arrays, any other name a JSON file. FILE is never changed, "
                 "and NEW is written completely or not at all. FILE may be a GPU core file: NEW then gets the waves "
                 "of -waves, the code objects, and the memory of -memory. The default is scratch (stack), local "
                 "memory (lds) and kernel arguments (args); reachable:N adds the memory that is reached through up "
                 "to N pointers."),
    question("maint core", "say what is in GPU core files, and what is missing", "files.core", group=FILES,
             operands="[info] CORE...", completes="path", repeats="nothing",
             shell=shell(LOOK, "core", SYSROOT, operand("CORE...", "a core file, or those of host and GPU"),
                         examples=("dwarfgpu core gpucore.1234", "dwarfgpu core core.1234 gpucore.1234",
                                   "dwarfgpu core --json core.1234")),
            help="Agents, queues, dispatches, waves by kernel, line and stop reason, code, and missing parts.\n\n"
                 "CORE is a merged core file, the GPU's part, or the parts of host and GPU. The host's part is found "
                 "if it is core.PID in the same folder."),
    # --- Waves, lanes and frames --------------------------------------------------------------------------------
    command("wave", "select a wave, or show which one is selected", "focus.wave", group=FOCUS, aliases="thread t",
            operands="[N|ID]", completes="wave",
            help="N is the number of a wave in `info waves`, from 1; ID is its id, such as 1:2:1:1. `wave` also "
                 "selects the innermost frame, and the lane that was last selected in that wave. In a core file, "
                 "`thread LWP 1234` selects a host thread, and `thread 1:2:1:1` selects a wave again."),
    command("wave apply", "run a command in several waves", "focus.wave_apply", group=FOCUS,
            operands="LIST|all [-q] [-c|-s] COMMAND", completes="command",
            help="LIST is numbers and ranges as `info waves` shows them, such as 1,4-7. The selected wave stays the "
                 "same. Flags before COMMAND: -q does not name the waves, -c continues after an error, -s hides "
                 "errors and waves without output."),
    command("wave find", "find waves by id, work-group, function, line or stop reason", "focus.wave_find", group=FOCUS,
            operands="REGEXP", repeats="same",
            help="REGEXP is searched in the text of each wave in `info waves`: its id, work-group, kernel, function, "
                 "line, stop reason, such as MEMORY_VIOLATION, and signal, such as SIGSEGV."),
    command("lane", "select a lane, or show which one is selected", "focus.lane", group=FOCUS, aliases="la",
            operands="[N|[X,Y,Z]|global X,Y,Z]", completes="lane", gdb="lane",
            help="`lane 5` selects the lane for expressions in this wave. The default is the first active lane. "
                 "`lane [77,0,0]` selects the lane of a work-item of this work-group, `lane global 205` that of a "
                 "global id, also in another wave."),
    command("lane apply", "run a command in several lanes", "focus.lane_apply", group=FOCUS,
            operands="LIST|all [-q] [-c|-s] COMMAND", completes="command", gdb="lane apply",
            options=(option("-active", "only in active lanes"),
                     option("-inactive", "only in inactive lanes"),
                     option("-all", "also in lanes without a work-item")),
            help="LIST is lanes and ranges, such as 0,3,8-11; `all` means all lanes with a work-item. Flags before "
                 "COMMAND: -active or -inactive chooses such lanes, -all adds lanes without a work-item, -q does not "
                 "name the lanes, -c continues after an error, -s hides errors and lanes without output."),
    question("info waves", "the waves and where each one is", "waves.info_waves", group=FOCUS,
             aliases="threads", operands="[LIST]",
             options=(option("-each", "one row for each wave, even if waves are alike"),
                      option("-all", "the same as -each")),
             completes="wave", gdb="waves",
             shell=shell(LOOK, "waves", FILE, STATE, SYSROOT, operand("[LIST]", "waves such as 1,4-7 (all)"), *READ_AS,
                         FORCE,
                         examples=("dwarfgpu waves k.co --state stopped.json",
                                   "dwarfgpu waves k.co --state stopped.dgs --each --jsonl")),
            help="Waves with consecutive numbers, one place and the same active lanes share a row; -each gives each "
                 "wave its own. LIST is numbers and ranges, such as 1,4-7: waves are numbered from 1, as GDB numbers "
                 "threads. `*` marks the selected wave. A core file also lists the threads of the host: at the "
                 "prompt, `thread LWP 1234` selects a host thread, and `wave 1:1:1:1` selects a wave again."),
    question("info lanes", "the lanes of the wave: state, work-item, and where each one is",
             "waves.info_lanes", group=FOCUS, aliases="la", operands="[LIST]", completes="lane", gdb="lanes",
             options=(option("-lane LIST", "lanes such as 0,3,8-11 (all)"), option("-active", "only active lanes"),
                      option("-inactive", "only inactive lanes"),
                      option("-unused", "only lanes without a work-item"),
                      option("-all", "also lanes without a work-item"),
                      option("-each", "one row for each lane, even if lanes are alike"),
                      option("-group", "one row for each place in the code, with all its lanes"),
                      option("-svg", "draw the lanes: a picture as SVG")),
             shell=shell(LOOK, "lanes", FILE, STATE, SYSROOT, WAVE, FRAME, *READ_AS, FORCE,
                         examples=("dwarfgpu lanes k.co --state stopped.json",
                                   "dwarfgpu lanes k.co --state stopped.dgs --wave 3 --frame 1 --group",
                                   "dwarfgpu lanes k.co --state stopped.dgs --wave 3 --active --jsonl",
                                   "dwarfgpu lanes k.co --state stopped.json --svg >lanes.svg")),
            help="State is A for an active lane, I for an inactive lane, U for a lane without a work-item, and ? if "
                 "unknown. In the frame of a caller, a lane is active if it was active at the call. Neighbouring "
                 "lanes with one state and place share a row; -each gives each lane its own, -group puts all lanes "
                 "at one place in a row. LIST is numbers and ranges, such as 0,3,8-11: lanes are numbered from 0. "
                 "Lanes without a work-item are shown only with -all or -unused. `*` marks the selected lane. -svg "
                 "writes a picture instead of the table."),
    question("map", "draw the wave: where each lane is, or the value of an expression in each", "waves.lane_map",
            group=FOCUS, operands="[EXPR]", gdb="map", formats=DATA_FORMAT,
            options=(option("-values", "print values instead of shades"),),
            help="Without an expression, each place in the program has a letter, a capital if the lanes there are "
                 "active. With an expression, each value or range of values has a shade; those of inactive lanes are "
                 "in parentheses. -values shows the values.\n\n"
                 "A row has 8 lanes if the work-groups are 8 work-items wide, otherwise 16."),
    question("backtrace", "the call frames", "stack.backtrace", group=FOCUS,
             aliases="bt where info_stack info_s", operands="[N|-N]",
             options=(option("-full", "also show the local variables of each frame"),
                      option("-lane N", "only frames in which the lane was active", read=int),
                      option("-registers", "show where registers are saved"),
                      option("-wave LIST", "show the frames of these waves: 1,4-7, an id, or all"), *PRINT), gdb="bt",
             shell=shell(LOOK, "bt frames backtrace", FILE, STATE, SYSROOT, *READ_AS, FORCE,
                         operand("[N]", "show the N innermost frames; -N: the N outermost (all)"),
                         examples=("dwarfgpu bt k.co --state stopped.json",
                                   "dwarfgpu bt k.co --state stopped.dgs --wave 3 --lane 5",
                                   "dwarfgpu bt program --state core --registers --json")),
            help="N shows only the N innermost frames, -N the N outermost. Argument values are those of the selected "
                 "lane. Without N, inner frames are left out if the selected lane was not active when their "
                 "functions were called. -wave shows several waves; at the shell the default is all of them. Waves "
                 "with equal stacks are shown once."),
    command("frame", "select a frame, or show which one is selected", "focus.frame", group=FOCUS, aliases="f",
            operands="[N|function NAME]",
            help="Frames are numbered from 0, the innermost; inlined functions have their own frames. `frame "
                 "function NAME` selects the nearest frame of that function."),
    command("frame apply", "run a command in several frames", "focus.frame_apply", group=FOCUS,
            operands="all|N|-N|level LIST [-q] [-c|-s] COMMAND", completes="command",
            help="`all`, N (the N innermost), -N (the N outermost) or `level LIST` chooses the frames. Flags before "
                 "COMMAND: -q does not show the frames, -c continues after an error, -s hides errors and frames "
                 "without output."),
    command("up", "select the caller", "focus.up", group=FOCUS, operands="[N]", repeats="same",
            help="With N, go N frames outwards."),
    command("down", "select the callee", "focus.up", group=FOCUS, aliases="dow", operands="[N]",
            help="With N, go so many frames inwards.", repeats="same"),
    command("up-silently", "select the caller without showing it", "focus.up", group=FOCUS, operands="[N]",
            repeats="same", help="With N, go N frames outwards."),
    command("down-silently", "select the callee without showing it", "focus.up", group=FOCUS, operands="[N]",
            help="With N, go so many frames inwards.", repeats="same"),
    question("info frame", "details of the frame: CFA, saved registers, caller", "stack.info_frame",
            group=FOCUS, aliases="f",
            help="The CFA (canonical frame address), the function and its line, the caller, the lanes that were active "
                 "on entry, and where the frame has saved registers of its caller; for vector registers also the "
                 "lanes that are saved."),
    # --- Data ---------------------------------------------------------------------------------------------------
    question("print", "the value of an expression", "variables.print_value", group=DATA, aliases="p inspect",
            operands="[EXPR]", options=(LANES, EVERY_LANE, ACTIVE_LANES, *VALUE), formats=DATA_FORMAT,
            help="Shows the value in the selected lane. Several lanes are shown as `{[0-3]=7, [4]=8}`, with the "
                 "values of inactive lanes in parentheses. Each value enters the history as $1, $2 and so on; $ is "
                 "the last value, $$ the one before it, $$3 the third before the last. `print $x = 3` sets a "
                 "convenience variable. Without EXPR the last value is shown again. /F is a letter: x d u o t a c f "
                 "s z r."),
    question("eval", "the value of an expression in the lanes, and where it comes from", "variables.evaluate",
             group=DATA, operands="EXPR", formats=DATA_FORMAT, gdb="eval",
             options=(LANES, EVERYWHERE, LOCATION, VERBOSE, option("-trace", "show each operation"), REPAIR,
                      option("-ops TEXT", "evaluate operations, such as `DW_OP_lit1; DW_OP_plus_uconst 4`"),
                      option("-hex BYTES", "evaluate the bytes of a DWARF expression")),
             shell=shell(LOOK, "eval", MAYBE_FILE, MAYBE_STATE, SYSROOT, *READ_AS, FORCE,
                         operand("[EXPR...]", 'expressions of the source language, such as "s->a[3] + 1"'),
                         options=(WAVES, FRAME, PC,
                                  option("-npz OUT", "write the numbers to a numpy file, an array for each expression"),
                                  option("-csv", "print CSV, a line per lane: expression, lane, state, value"), *ALONE),
                         examples=('dwarfgpu eval k.co x "s->a[3] + 1" --state stopped.json',
                                   "dwarfgpu eval k.co x --state stopped.dgs --wave 3 --frame 1 --lane all --location",
                                   'dwarfgpu eval k.co "sizeof(struct S)" global',
                                   'dwarfgpu eval k.co --ops "DW_OP_regx v4" --state stopped.json --lane 0-3',
                                   'dwarfgpu eval --ops "DW_OP_lit1; DW_OP_plus_uconst 4"',
                                   "dwarfgpu eval --hex 9108 --state stopped.json --trace")),
            help="The default is the active lanes; lanes with equal values share a line. If a lane has no value, the "
                 "output says why. -trace shows each operation with the stack before and after it, including the "
                 "operations of frame bases, call frame information and call sites. Without a state, only globals, "
                 "constants and locations can be shown.\n\n"
                 "-ops evaluates operations such as `DW_OP_lit1; DW_OP_plus_uconst 4` in the frame, and -hex the "
                 "bytes of an expression. At the shell both also work without FILE: they then use only the state, "
                 "and the code object that a snapshot names if an operation needs one."),
    command("output", "the value of an expression, without `$N = ` and without a newline", "values.output", group=DATA,
            operands="EXPR", formats=DATA_FORMAT,
            help="For scripts: what `print` shows after the equals sign, without a number in the history."),
    command("printf", "print a text with values", "values.printf", group=DATA, operands='"TEXT", EXPR...',
            completes="expression",
            help='As in C: `printf "%d of %s", i, name`. The values are those of the selected lane.'),
    question("locals", "the parameters and local variables of the frame", "variables.show_locals", group=DATA,
             operands="[REGEXP]", formats=DATA_FORMAT, gdb="locals",
             options=(LANES, EVERYWHERE, ACTIVE_LANES, LOCATION, VERBOSE, QUIET, OF_TYPE,
                      option("-statics", "also the variables of the unit outside functions"), *VALUE),
             shell=shell(LOOK, "locals", FILE, MAYBE_STATE, SYSROOT, *READ_AS, FORCE,
                         operand("[REGEXP]", "searched in names"),
                         options=(WAVES, FRAME, PC),
                         examples=("dwarfgpu locals k.co --state stopped.json --wave 1",
                                   "dwarfgpu locals k.co --state stopped.dgs --wave 3 --frame 1 --lane 5 --location",
                                   "dwarfgpu locals k.co --pc 0x1548",
                                   "dwarfgpu locals program --state core --json")),
            help="Inner blocks come first, in the order of the source. REGEXP chooses variables by name, -t by type. "
                 "With lanes, each variable is shown with its values in them. Without a state, -pc shows the "
                 "locations of the variables."),
    question("info locals", "the local variables of the frame", "variables.show_locals", group=DATA, aliases="lo",
             operands="[REGEXP]", options=(LANES, EVERY_LANE, QUIET, OF_TYPE, *VALUE), formats=DATA_FORMAT,
            help="Inner blocks come first. REGEXP chooses variables by name, -t by type. With lanes, each variable "
                 "is shown with its values in them."),
    question("info args", "the parameters of the frame", "variables.show_locals", group=DATA, aliases="ar",
             operands="[REGEXP]", options=(LANES, EVERY_LANE, QUIET, OF_TYPE, *VALUE), formats=DATA_FORMAT,
            help="In the order of the source. REGEXP chooses parameters by name, -t by type."),
    question("ptype", "the type of an expression, with its members", "symbols.ptype", group=DATA, formats="o",
            operands="[EXPR|TYPE]",
            help="Typedefs are resolved once, and structures are shown with their members, with /o also their "
                 "offsets and sizes and the holes between them. An expression is evaluated only as far as its type "
                 "needs."),
    question("whatis", "the type of an expression", "symbols.whatis", group=DATA, operands="[EXPR|TYPE]",
            help="A typedef is resolved by one level. An expression is evaluated only as far as its type needs."),
    question("info layout", "which lane holds which element of a tensor", "layouts.info_layout", group=DATA,
             operands="EXPR", completes="expression",
             help="EXPR is a tensor of a Triton kernel, or a part of one: `info layout c[0:4, :]`. The layout is a "
                  "linear map from the bits of the warp, the lane and the register to the index. Registers are "
                  "numbered as Triton does: they count the elements that a lane holds. Of a buffer in shared memory it "
                  "is one from the bits of the offset."),
    question("x", "show memory", "memory.examine", group=DATA, formats="NFU", operands="[ADDRESS]",
            completes="expression", repeats="onwards",
            help="N is the number of units (1; a negative N shows those before ADDRESS), F a letter (x d u o t a c f "
                 "s z, i for instructions), U the unit size: b is 1 byte, h 2, w 4, g 8. F and U default to those of "
                 "the last `x`. ADDRESS is a number, a pointer, an array, or an address in an address space: `x/4xw "
                 "local#0x10`. `x` alone continues after the memory it showed last. Afterwards $_ is the last "
                 "address shown, and $__ its contents."),
    command("set var", "assign to a variable, a register or memory", "values.set_var", group=DATA, aliases="variable",
            operands="EXPR = EXPR", options=(LANES, EVERY_LANE), gdb="set",
            help="The default is the selected lane. Nothing is written if the expression has no value in one of the "
                 "lanes. You can also assign to registers ($v4), memory (*(int *) p) and convenience variables ($x)."),
    command("display", "show an expression whenever the selection changes", "context.display", group=DATA,
            operands="[EXPR]", formats="NFU",
            help="The value is shown at once, and after each change of wave, lane or frame in which it has a "
                 "meaning. Without an expression, all displays are shown now. /F is a letter as in `print`. With i, "
                 "s, a count or a size it shows memory as `x` does: `display/i $pc`. A format follows the command "
                 "directly."),
    command("undisplay", "remove displays", "context.undisplay", group=DATA, operands="[N...]",
            aliases="delete_display",
            help="By numbers as `info display` shows them, such as 1 3-5; without a number all of them."),
    command("info display", "the expressions of `display`", "context.info_display", group=DATA, repeats="same",
            help="With their numbers and formats."),
    question("info registers", "registers of the frame", "registers.info_registers", group=DATA, aliases="r",
            operands="[NAME...]", formats=DATA_FORMAT, completes="register",
            help="NAMES are registers ($v4), ranges (v0-v3, s[0:3]) or groups: general, scalar, vector, system, "
                 "float, all. The default is all known registers that are not vectors. Registers are those of the "
                 "selected frame; a register that no callee saved is <not saved>. /F chooses the format of the last "
                 "column."),
    question("find", "search memory for values", "memory.find", group=DATA, formats="SIZE-CHAR|MAX-COUNT",
             operands="START, +LENGTH|END, EXPR...", completes="expression", repeats="nothing",
            help="Search the bytes of the values from START up to END, or in LENGTH bytes. A value has the size of "
                 "its type, or of the letter: b is 1 byte, h 2, w 4, g 8; a string is searched without its final "
                 "null. The search ends when MAX-COUNT places are found. $_ is then the last place, and $numfound "
                 "their number."),
    question("info all-registers", "all registers of the frame", "registers.info_registers", group=DATA,
            operands="[NAME...]", formats=DATA_FORMAT, completes="register",
            help="Including vector registers. NAMES are as in `info registers`."),
    # --- Source and code ----------------------------------------------------------------------------------------
    question("list", "lines of the source", "sources.list_lines", group=SOURCE, aliases="l",
            operands="[LINE|FUNCTION|FILE:LINE|FIRST,LAST|*ADDRESS|-]", completes="place", repeats="onwards",
            help="Without operands: the lines around the frame, then the following ones; `list -` shows earlier "
                 "ones. `list 15` and `list add` show the lines around a line or function, `list 10,20` these lines, "
                 "`list 10,` and `list ,20` as many as `set listsize` says. `>` marks the line of the frame, `*` "
                 "other lines where lanes are."),
    question("info line", "the addresses of a line, or the line of an address", "sources.info_line",
            group=SOURCE, operands="[LINE|FUNCTION|FILE:LINE|*ADDRESS]", completes="place",
            help="Without operands: the first line that was listed, or the line of the frame. Of an address, its "
                 "line. `x/i` then shows the first instruction, whose address is $_."),
    question("info source", "the source file of the frame", "sources.info_source", group=SOURCE,
            help="The file of the frame, or the one that was listed last."),
    question("info sources", "the source files of the program", sources, group=SOURCE,
             operands="[REGEXP]",
            help="The files that line tables name, for each code file. With REGEXP only those whose paths match."),
    question("info macro", "the definition of a macro at the line of the frame", "symbols.info_macro", group=SOURCE,
             operands="NAME",
            help="The place of its definition, the files that include it, and the definition. Compile with `-g3` "
                 "(GCC) or `-fdebug-macro` (clang)."),
    question("macro expand", "an expression with its macros expanded", "symbols.macro_expand", group=SOURCE,
            operands="EXPR", aliases="exp",
            help="With the macros that are defined at the line of the frame, as in `print`."),
    question("macro expand-once", "an expression with only the macros written in it expanded", "symbols.macro_expand",
            group=SOURCE, operands="EXPR", aliases="exp1",
            help="With the macros that are defined at the line of the frame, as in `print`."),
    command("macro define", "define a macro", "symbols.macro_define", group=SOURCE,
            operands="NAME[(PARAMETERS)] [BODY]",
            help="It hides a macro of the source with this name in expressions and `macro expand`."),
    command("macro undef", "remove a macro of `macro define`", "symbols.macro_undef", group=SOURCE, operands="NAME",
            help="Macros of the source stay."),
    question("macro list", "the macros of `macro define`", "symbols.macro_list", group=SOURCE,
             help="By name, in a form that you can type again."),
    command("directory", "add directories to search for source files", "sources.directory", group=SOURCE, aliases="dir",
            operands="[DIRECTORY...]", completes="path",
            help="Directories are searched before the earlier ones; `show directories` shows all. Without operands "
                 "only $cdir (where a file was compiled) and $cwd (where the debugger runs) remain."),
    command("set substitute-path", "replace the beginning of source paths after files were moved",
            "sources.set_substitute_path", group=SOURCE, operands="FROM TO", completes="path",
            help="Files whose path in the program begins with FROM are searched in TO. Of several rules, the longest "
                 "counts."),
    command("unset substitute-path", "remove a rule of `set substitute-path`", "sources.unset_substitute_path",
            group=SOURCE, operands="[FROM]", help="Without operands: all rules."),
    command("show substitute-path", "the rules of `set substitute-path`", "sources.show_substitute_path", group=SOURCE,
            operands="[FROM]", help="With FROM, show only the rule for that beginning."),
    question("disassemble", "instructions, with the source lines they come from", "code.disassemble", group=SOURCE,
            aliases="disas", operands="[FUNCTION|ADDRESS|FIRST,LAST]", formats="mrs",
            help="Without operands: the function of the frame. FUNCTION or an address in it shows the whole "
                 "function, FIRST,LAST or FIRST,+LENGTH a range. `/r` shows the bytes, `/s` the source lines, `/m` "
                 "each source line with all its instructions. `=>` marks the instruction of the frame, `*` those of "
                 "other lanes."),
    question("info symbol", "the symbol at an address", "symbols.info_symbol", group=SOURCE, operands="EXPR",
            help="EXPR is an address, a function, or a pointer."),
    question("info address", "where a variable or a function is", "symbols.info_address", group=SOURCE,
            operands="NAME", completes="expression",
            help="A variable of the frame or of the program, with all its locations in the file."),
    question("info scope", "the variables visible in a function or at a line", "symbols.info_scope",
            group=SOURCE, operands="FUNCTION|LINE|*ADDRESS", completes="place",
            help="The parameters and variables of the function and of the blocks around the place."),
    question("info functions", "the functions of the program", "symbols.info_functions", group=SOURCE,
            aliases="fu", operands="[REGEXP]", options=(DEBUGGED,),
            help="REGEXP is searched in names with scopes. `-n` leaves out names that only symbols have."),
    question("info variables", "the variables of the program outside functions", "symbols.info_functions",
             group=SOURCE, aliases="var", operands="[REGEXP]", options=(DEBUGGED,),
            help="REGEXP is searched in names with scopes. `-n` leaves out names that only symbols have."),
    question("info types", "the types of the program", "symbols.info_functions", group=SOURCE,
            operands="[REGEXP]", help="REGEXP is searched in names with scopes."),
    command("context", "source, variables, lanes and stack at a glance", "context.context", group=SOURCE, aliases="ctx",
            operands="[SECTION...]", completes="section",
            help="Sections are source (with the lanes at each line), locals (of the selected lane), lanes, "
                 "registers, stack and expressions (of `display`). `set context-sections` chooses the default. At "
                 "the prompt they appear after each change of wave, lane or frame, unless `set context off`. `set "
                 "context on` also shows them when there is no terminal."),
    # --- Debugging information ----------------------------------------------------------------------------------
    question("explain", "where a variable lives and why, operation by operation", "explaining.explain", group=DEBUG,
            operands="EXPR", options=(LANES, EVERY_LANE, REPAIR), gdb="explain",
            help="Show the entry that declares the variable, its location list with the valid entry, each operation "
                 "with the stack before and after it (including frame bases, call frame information and call sites), "
                 "the place of the value, and the value, or why it has none. Of an expression, every variable is "
                 "explained. Without a state, show the contents of the file."),
    question("locate", "the registers, lanes, bytes and addresses that a value comes from", "explaining.locate",
            group=DEBUG, operands="EXPR", options=(LANES, EVERY_LANE, ACTIVE_LANES), gdb="locate",
            help="For each part of the value, in the selected lane by default. Lanes with the value in the same "
                 "places are shown together. *Its own* is a part in the lane's own part of a register or of memory."),
    question("verify", "check files, variables or expressions, and say what is wrong with them",
             "verification.verify", group=DEBUG, operands="[NAME]", completes="expression", gdb="verify",
             options=(option("-ops TEXT", "check an expression, given as operations"),
                      option("-hex BYTES", "check an expression, given as bytes"),
                      option("-cfi", "check the expression as an operand of call frame information"),
                      option("-depth N", "entries on the stack at the start (0)", read=int),
                      WANT,
                      *FINDINGS,
                      option("-jobs N", "how many processes check the files (one for each processor)", read=int),
                      EXPLAIN,
                      option("-rules [R]",
                             "the rules for an expression (those of the target); without R: list the rules for files",
                             choices=("dwarf5", "amd", "dwarf6")), *ENCODING),
             shell=shell(JUDGE, "verify", MANY_FILES, MAYBE_STATE, SYSROOT, WAVE, FRAME, ATTRIBUTES,
                         evolve(REPAIR, help=f"with --state: {REPAIR.help}"), FORCE,
                         examples=("dwarfgpu verify k.co", "dwarfgpu verify build/*.co --ignore entry-string --jobs 4",
                                   "dwarfgpu verify k.co --state waves.json",
                                   'dwarfgpu verify --ops "DW_OP_lit1; DW_OP_plus"',
                                   "dwarfgpu verify --cfi --hex 9c")),
            help="Without a state, `verify` applies every rule that needs no execution to all parts of the files: "
                 "entries, expressions along every path, lists, call frame information, line tables, indexes, "
                 "kernels. It checks the file as written, without repairs. Findings that a known mistake of the "
                 "producer explains are idioms: they are counted in one line, and fail only with -strict; -verbose "
                 "lists them. With a state, it evaluates every variable of every frame of every wave, and reports "
                 "failures with their reasons. At a prompt, it checks the variable NAME, or all variables visible in "
                 "the frame.\n\n"
                 "-ops and -hex check one expression (with -cfi, as an operand of call frame information): branches, "
                 "stack depth, kinds, constants and storage sizes on every path. The exit status is 1 if there are "
                 "findings that count, 2 for a wrong command, and 3 if a file cannot be read or has fewer entries "
                 "than -require N."),
    question("maint judge", "run a kernel, and compare its debugging information with what happens", "judging.judge",
             group=DEBUG, operands="[KERNEL [ARG...]]", completes="launch without sizes",
             options=(*(evolve(each, is_required=False) for each in SIZES),
                      option("-against OTHER", "compare variables with another build of the same source, or with "
                                               "the source at -O0 (default for a source with -O; none: with nothing)"),
                      *findings_of("unwind-cfa", "instructions"),
                      option("-fail-below PERCENT", "exit with 1 if less than PERCENT of the locations (with -against: "
                                                    "of the values) are right", read=float),
                      EXPLAIN, option("-rules", "list the rules"),
                      CHECK, LIMIT, SEED, AT_ONCE, *MORE_MEMORY),
             shell=shell(JUDGE, "judge", MAYBE_FILE, *READ_AS,
                         operand("[KERNEL]", "name or symbol of a kernel (default: Triton's, in NAME.json, or all)"),
                         operand("[ARG...]", "its arguments: NAME=VALUE, or VALUE by position (default: made)"),
                         examples=("dwarfgpu judge k.co",
                                   "dwarfgpu judge k.co saxpy --grid 128 --work-group 64 'ones(128)' 'ones(128)' 2 9",
                                   "dwarfgpu judge k.cl -O2",
                                   "dwarfgpu judge k.co saxpy --grid 128 --work-group 64 --sarif -o judged.sarif",
                                   "dwarfgpu judge k.co saxpy --grid 128 --work-group 64 --baseline known.json")),
            help="It says whether a debugger shows the truth about the kernel, which runs without a GPU.\n\n"
                 "Frames: at every instruction, including prologues and epilogues, unwinding must find the real "
                 "return address, the same CFA throughout a call, and the caller's registers in every lane. Lanes: "
                 "the active lanes must be those that execute the source line. Variables: each must be readable at "
                 "every instruction after the prologue, a value in registers may change only where a statement names "
                 "the variable, and only lanes that computed a value may show it.\n\n"
                 "-against also runs another build of the same source: the source, which is compiled with -O0 for "
                 "it, or a code object for any processor. At each statement, every variable of every lane is "
                 "compared with the other build: it is right, wrong, or missing although the source needs it. If FILE "
                 "is a source and -O is given, the other build is FILE at -O0; `-against none` judges without one.\n\n"
                 "KERNEL, ARG and the sizes are those of `run`. Without ARG, arguments are made from their types. "
                 "Without KERNEL, every kernel is judged, each for at most 50,000 instructions (-limit), and a table "
                 "counts the right, wrong and missing locations.\n\n"
                 "A finding names the function, the first and last instruction, the mistake, and the wrong row of "
                 "debugging information. What the compiler never writes (places of lanes, call frame information, "
                 'dropped parameters and values), or always writes wrongly in a known way, is listed as "not '
                 'counted", and fails only with -strict. The exit status is 1 if an error or warning counts, or less '
                 "is right than -fail-below, 2 for a wrong command, and 3 if a kernel has not ended (unless -limit "
                 "stopped it), or less was judged than -require or the -baseline has. ^C ends it with what was "
                 "judged so far, and with 130."),
    question("info fault", "why waves have crashed, or what they wait for",
             "faults.fault", group=FOCUS, gdb="fault",
             options=(option("-address A", "the address that the driver or dmesg reports"),
                      option("-log LOG", "lines of the console or of dmesg: a file, text, or - (standard input)")),
             shell=shell(START, "fault", SYSROOT,
                         operand("[STATE]", "a snapshot, a core file, or the debug agent's text"),
                         operand("[CODE]", "the code object, if STATE does not name one"),
                         options=(MAYBE_STATE, FORCE),
                         examples=("dwarfgpu fault gpucore.1234", "dwarfgpu fault stopped.json k.co",
                                   "dwarfgpu fault core.1234 --address 0x7f31a0200000",
                                   "dwarfgpu fault --log console.txt k.co")),
            help="Show the kernel and the line that failed, the instruction, the address in each lane, the argument "
                 "that it missed and by how much, and the variables. If several accesses were in flight, show the "
                 "possible ones, the likeliest first. If no wave crashed, show what the waves wait for: a barrier "
                 "and the missing waves, or a loop that they cannot leave. -address takes the address that the "
                 "driver reported: accesses to its page come first. -log reads the address from what the console or "
                 "dmesg has shown; without a STATE it explains these lines."),
    question("info outstanding", "memory accesses that may be outstanding at an address, and those outstanding now",
             "memory_model.info_outstanding", group=DATA, operands="[ADDRESS]", completes="place",
            help="Without operands: what may be outstanding at the instruction of the frame, on all paths that lead "
                 "there, and with `set weak-memory` also what its wave has outstanding now. ADDRESS is a number, a "
                 'function, or function+offset. "N later" is how many operations of the same counter have begun '
                 "since: a wait for N or less completes it."),
    question("memmodel", "check how code orders memory: the code for each operation, and what a file lacks",
             "memory_model.memory_model", group=DEBUG, operands="table|show|check [WORD|FILE...]", completes="path",
             options=(option("-target T", "for table: a processor, such as gfx1200"),
                      option("-mode M", "the execution mode: cu, wgp or tgsplit (the kernel's, else the compiler's)",
                             choices=("cu", "wgp", "tgsplit")),
                      option("-rules R", "the code that LLVM 22 emits, or that its text requires (llvm22)",
                             choices=("text", "llvm22")),
                      option("-function F", "one function: f, ns::f or _Z1fv"),
                      option("-pc A", "for show: what may be outstanding at 0x1900, k, k+0x40 or k.hip:17"),
                      option("-from-source", "for check: fail if the source cannot be read"),
                      option("-expect TEXT", "for check: the intended ordering, such as 'k.cl:12 acquire agent', "
                             "which replaces that of the source", is_many=True),
                      option("-directory DIR", "for check: also search source files here", is_many=True),
                      *(evolve(each, help=f"for check: {each.help}")
                        for each in findings_of("order-wait-before", "operations")),
                      option("-jobs N", "for check: how many processes check the files (one for each processor)",
                             read=int)),
             shell=shell(JUDGE, "memmodel", operand("ACTION", "table, show or check"),
                         operand("[NAMES...]", "words that choose cells of the table; or files"),
                         examples=("dwarfgpu memmodel table --target gfx1200 store release agent",
                                   "dwarfgpu memmodel show k.co --function saxpy",
                                   "dwarfgpu memmodel show k.co --pc k.hip:17",
                                   "dwarfgpu memmodel check build/*.co --jobs 4",
                                   "dwarfgpu memmodel check k.co --expect 'k.cl:12 acquire agent'")),
            help="`table -target T [WORD...]` shows the code for each operation by ordering, scope and address "
                 "space, with the clause that requires it; WORDs choose cells (`store release agent`). `show FILE` "
                 "lists the accesses that other threads may see, with the strongest ordering and scope that the "
                 "surrounding code implements on all paths; with -pc it shows what may be outstanding at an address. "
                 "`check FILE...` finds missing waits, write-backs, invalidates, scopes and cache bits, and "
                 "registers that are used before they are loaded. The required ordering comes from the source "
                 "(`__hip_atomic_*`, `__scoped_atomic_*`, `__atomic_*`, `atomic_*_explicit`, fences, barriers) or "
                 "from -expect.\n\n"
                 "-rules chooses the rules: llvm22 is the code that LLVM 22 emits, text is the code that LLVM's "
                 "AMDGPU usage guide requires. The exit status of `check` is 1 if there are findings (with -strict, "
                 "also for known bugs of LLVM), 2 for a wrong command, and 3 if nothing could be checked, or fewer "
                 "operations than -require N."),
    question("coverage", "where variables have a location, of which kind, and why not elsewhere",
             "coverage.coverage", group=DEBUG, operands="[FUNCTION]", gdb="coverage",
             options=(option("-function NAME", "the variables of a function and of its inlined calls"),
                      option("-variable NAME", "only the variables with this name"),
                      option("-worst N", "show the N worst functions, units or variables (10)", read=int),
                      option("-fail-below PERCENT", "exit with 1 if locations cover less than PERCENT of the chosen "
                                                    "scopes", read=float),
                      option("-svg", "draw a strip for each variable: a picture as SVG")),
             shell=shell(LOOK, "coverage", FILE, *READ_AS, operand("[FUNCTION]", "a function: f, ns::f or _Z1fv"),
                         examples=("dwarfgpu coverage k.co", "dwarfgpu coverage k.co saxpy",
                                   "dwarfgpu coverage k.co saxpy --svg >saxpy.svg")),
            help="For every variable, show the share of its scope that has a location, the kind of location "
                 "(register, memory by address space, composite, implicit), and the reason for the rest. The sums "
                 "for functions, units and the file follow, the worst first. Locations are read, not evaluated, once "
                 "as written and once with repairs.\n\n"
                 "With FUNCTION, or -variable: each variable, address by address. -svg draws a picture. With "
                 "-fail-below, the exit status is 1 if locations cover less than that share of the chosen scopes."),
    question("maint annotate", "the samples of a profiler with the code: lines, loops, stalls, variables",
             "sampling.annotate_", group=DEBUG, operands="SAMPLES [CODE...]", completes="path",
             options=(option("-profile-format FORMAT", "write the samples as a profile; -o FILE names its file",
                             choices=tuple(each for each in FORMATS if each != "chrome")),),
             shell=shell(LOOK, "annotate",
                         operand("SAMPLES", "PC samples of rocprofv3: *_pc_sampling_*.csv, or *_results.json"),
                         operand("CODE...", "the code that was sampled: files, or code objects in them (FILE@gfx90a)"),
                         examples=("dwarfgpu annotate 123_pc_sampling_stochastic.csv k.co",
                                   "dwarfgpu annotate 123_results.json k.co library.so@gfx90a",
                                   "dwarfgpu annotate 123_results.json k.co --profile-format pprof -o k.pb.gz")),
            help="SAMPLES is a file of `rocprofv3` with PC samples: CSV or JSON, of the host trap or the stochastic "
                 "method. CODE is the sampled code; several files are distinguished by their instructions. The "
                 "answer has the source lines with their samples, active lanes and reasons of stalls, the loops, and "
                 "the instructions with most samples, with inlined calls and visible variables.\n\n"
                 "A CSV file has no addresses: the place of a sample is found by the text of its instruction and the "
                 "line in its comment. Samples of other code are counted.\n\n"
                 "-profile-format writes the samples with their inlined calls for another viewer."),
    question("report", "one HTML page about a file and the waves of a state", "report.report", group=DEBUG,
             operands="[FUNCTION]", gdb="report",
             options=(option("-o FILE", "the file to write, whole or not at all (standard output)"),
                      option("-directories LIST", "where source files are looked for ($cdir:$cwd)")),
             shell=shell(START, "report", FILE, MAYBE_STATE, *READ_AS, FORCE,
                         operand("[FUNCTION]", "a function: f, ns::f or _Z1fv"),
                         examples=("dwarfgpu report k.co -o report.html",
                                   "dwarfgpu report k.co --state waves.json -o report.html")),
            help="One HTML file that needs no network: what the kernels start with, where the variables of functions "
                 "have locations, the instructions with their source, call frame information and the findings of "
                 "`verify`. With a state also the lanes, the stacks of the waves, and the values of variables as "
                 "maps.\n\n"
                 "With FUNCTION, only the functions of that name, with more of their instructions. A page is smaller "
                 "than 3 MB; it says what was left out, and which command shows it. -o writes it to a file, "
                 "completely or not at all."),
    question("maint disasm", "list the operations of an expression", "expressions.disassemble", group=DEBUG,
             operands="BYTES", options=ENCODING,
             shell=shell(CONVERT, "disasm", operand("[BYTES...]", "in hex; - reads standard input", read=text_or_input),
                         examples=("dwarfgpu disasm 31 23 04",
                                   "dwarfgpu disasm --target amdgcn-gfx90a 90840ae903 34 1e e904")),
            help="Each with its offset, its bytes, and where a branch goes. BYTES are in hex; at the shell - reads "
                 "them from standard input."),
    question("maint asm", "assemble an expression to bytes", "expressions.assemble", group=DEBUG,
             operands="TEXT", options=ENCODING,
             shell=shell(CONVERT, "asm", operand("[TEXT...]", "operations; - reads standard input", read=text_or_input),
                         examples=('dwarfgpu asm "again: DW_OP_dup; DW_OP_bra @again"',
                                   'dwarfgpu asm --dialect llvm-user "DW_OP_LLVM_undefined"')),
            help="TEXT is operations, separated by semicolons or lines; at the shell - reads it from standard input."),
    question("maint operations", "explain operations", "expressions.operations", group=DEBUG,
             operands="[NAME...]",
             options=(option("-isa", "instructions of AMD GPUs: formula, types, encodings, memory access"),
                      option("-rules", "the points on which the texts disagree, and what each rule set says"),
                      option("-repairs", "the compiler mistakes that dwarfgpu corrects")),
             shell=shell(CONVERT, "ops", operand("[NAME...]", "a name, with or without DW_OP_, or part of one"),
                         examples=("dwarfgpu ops DW_OP_LLVM_select_bit_piece", "dwarfgpu ops offset",
                                   "dwarfgpu ops --isa v_bfe_u32", "dwarfgpu ops --rules",
                                   "dwarfgpu ops --repairs vector-register")),
            help="Shows each operation's operands, effect on the stack, clause of the standard, where it is allowed, "
                 "and encodings. NAME is a name, with or without DW_OP_, or a part of one; the default is all "
                 "operations. With -isa, NAME is an instruction of AMD GPUs such as v_bfe_u32, or a part of one.\n\n"
                 "-rules shows the points on which DWARF 5, the heterogeneous extension and the DWARF 6 drafts "
                 "disagree, with the choice of each rule set. -repairs shows the expressions that compilers get "
                 "wrong, and how dwarfgpu reads them."),
    question("maint print die", "debugging information entries, and other sections in full",
             "dwarf.print_die", group=DEBUG, aliases="maint_dump", operands="[NAME|OFFSET]", completes="symbol",
             gdb="dump",
             options=(option("-name NAME", "entries with a name: f, ns::f or _Z1fv", is_many=True),
                      option("-tag TAG", "entries with a tag: DW_TAG_variable or variable", is_many=True),
                      option("-die OFFSET", "the entry at 0x2a, or .debug_types+0x2a", is_many=True),
                      option("-pc ADDR", "the function at an address (0x1900, k, k+0x10 or k.hip:17), and what is "
                             "valid there"),
                      option("-depth N", "how many levels below an entry are shown", read=int),
                      option("-section S", "a section: .debug_line, line, ..., or all", is_many=True),
                      option("-dialect D", DIALECT.help)),
             shell=shell(LOOK, "dump", FILE, ATTRIBUTES, operand("[NAME]", "the entry of a function, variable or type"),
                         examples=("dwarfgpu dump k.co", "dwarfgpu dump k.co --name saxpy --depth 1",
                                   "dwarfgpu dump k.co --pc saxpy+0x10",
                                   "dwarfgpu dump k.co --section line --section loclists")),
            help="Values are decoded: disassembled expressions, register names, location lists, ranges, references, "
                 "files. NAME is a function, variable or type, such as f, ns::f or _Z1fv; OFFSET is where an entry "
                 "is, such as 0x2a or .debug_types+0x2a. NAME and OFFSET show only the entry itself; -depth adds the "
                 "levels below it.\n\n"
                 "-name, -tag, -die and -pc select entries with everything below them; together they narrow the "
                 "selection.\n\n"
                 "-section shows another section: line, loc, loclists, ranges, rnglists, frame, eh_frame, "
                 "eh_frame_hdr, names or aranges; -section all shows the entries and all of these."),
    question("maint print dwarf-expr", "the location of a variable as operations", "explaining.print_expression",
            group=DEBUG, operands="NAME", completes="expression",
            help="Every location in the file, operation by operation: offset, bytes, operation, names of registers. "
                 "`explain` shows the result."),
    question("maint print cfi", "call frame information", "dwarf.print_cfi", group=DEBUG,
             operands="[ADDRESS|FUNCTION]", completes="function",
             options=(option("-pc ADDR", "0x1900, k, k+0x10 or k.hip:17; repeatable", is_many=True),
                      option("-function NAME", "as f, ns::f or _Z1fv; repeatable", is_many=True),
                      option("-dialect D", DIALECT.help)),
             shell=shell(LOOK, "cfi", FILE,
                         examples=("dwarfgpu cfi k.co", "dwarfgpu cfi k.co --pc saxpy+0x10",
                                   "dwarfgpu cfi k.co --function f --json")),
            help="Every entry with its instructions and rows. A row shows what changes; the first row of an entry is "
                 "complete. At the prompt, the default is the row for the frame's pc.\n\n"
                 "With -pc or ADDRESS: the complete row for the address. With -function or FUNCTION: the entries of "
                 "the function."),
    question("info address-spaces", "the address spaces of the target", "target.print_address_spaces",
             group=DEBUG, aliases="maint_print_address-spaces",
             help="Expressions use the name and the DWARF number (local#0x10). The scope says whose memory an address "
                  "means. The spaces of single lanes share a line."),
    question("info targets", "the processors and other targets, and what is known about each", "target.targets",
             group=DEBUG, operands="[NAME...]",
             shell=shell(LOOK, "targets", operand("[NAME...]", "a processor, a target or a target ID (all processors)"),
                         examples=("dwarfgpu targets", "dwarfgpu targets gfx90a gfx1100-wave32",
                                   "dwarfgpu targets gfx1200 --json", "dwarfgpu targets gfx950 --coverage")),
             options=(option("-coverage", "of how many instructions of processors the text, the effects (what they "
                             "read and write) and the meaning (what they compute) are known"),),
            help="Without NAME, all processors. NAME is a processor (gfx90a), a target (amdgcn-gfx1100-wave32, "
                 "x86_64, generic) or a target ID (gfx90a:xnack+); the output has its features, registers and "
                 "address spaces. A processor with two wave sizes shows both, unless the name has a size."),
    question("maint print registers", "the registers of the target, with their numbers",
             "target.print_registers", group=DEBUG, operands="[REGEXP]",
            help="Their DWARF numbers, sizes in bits, and whether a callee saves them for its caller. REGEXP chooses "
                 "registers by name; without it, neighbours that are alike share a line."),
    question("maint info sections", "the sections of the file", "target.info_sections", group=DEBUG,
             operands="[NAME|FLAG...]",
            help="The place of each in memory and in the file, and its type. Words choose sections by name, or by a "
                 "flag such as ALLOC or CODE."),
    question("maint launch-state", "explain the registers of a wave at its first instruction", "launching.launch_state",
             group=DEBUG, operands="KERNEL",
             options=(*SIZES,
                      option("-wave N", "which wave of the dispatch, from 1 (1)"),
                      option("-arg VALUE", "the next argument, or NAME=VALUE, such as 5, 0x10, 1.5 or bytes:0a0b; "
                             "repeatable; without -arg, all arguments are 0", is_many=True),
                      *MORE_MEMORY),
             shell=shell(EXECUTE, "state", FILE, operand("KERNEL", "the name or symbol of a kernel"),
                         examples=("dwarfgpu state k.co saxpy --grid 1024 --work-group 256",
                                   "dwarfgpu state k.co saxpy --grid 64,4,1 --work-group 16,4,1 --wave 4",
                                   "dwarfgpu state k.co saxpy --grid 64 --work-group 64 --arg 0x1000 --arg 2.5")),
            help="Shows each register that is set before the kernel starts: who sets it, by which rule, and its "
                 "value. The first instructions of the kernel set the other registers.\n\n"
                 "Sizes are in work-items; missing ones are 1. Addresses are those of the first launch of a machine."),
    question("maint print structure", "a queue, signal, packet, buffer resource or kernel descriptor in memory",
             "launching.structure", group=DEBUG, operands="WHAT ADDRESS",
             shell=shell(LOOK, "hsa", operand("WHAT", "what is there", choices=STRUCTURES),
                         operand("ADDR", "a global address, such as 0x7f0000024000"), STATE, SYSROOT, FORCE,
                         examples=("dwarfgpu hsa queue 0x7f0000024000 --state wave.json",
                                   "dwarfgpu hsa packet 0x7f0000025000 --state waves.dgs --json")),
            help="WHAT is queue (an amd_queue_t), signal (an amd_signal_t), packet (an AQL packet), kernel-code (an "
                 "amd_kernel_code_t, of code object version 2 and before), kernel-descriptor (version 3 and later), "
                 "or buffer (a buffer resource, V#, of the processor's generation). Nothing is guessed.\n\n"
                 "The exit status of the program is 1 if the structure has contents that the documents forbid."),
    # --- The debugger itself ------------------------------------------------------------------------------------
    command("help", "list the commands, or explain one", "control.help_", group=SUPPORT, aliases="h ?",
            operands="[COMMAND]",
            help="`help print` explains a command, `help info` lists the commands that begin with this word, `help "
                 "data` those of a group. `help set width` explains a setting, `help user` lists defined commands."),
    command("apropos", "commands and settings whose help matches", "control.apropos", group=SUPPORT, operands="REGEXP",
            help="REGEXP is searched in names, aliases, summaries and settings; case does not matter."),
    command("set", "change a setting, or assign to a variable", "control.set_", group=SUPPORT,
            operands="SETTING VALUE | EXPR = EXPR",
            help="`show` lists the settings with their values. If the first word is not a setting, it is an "
                 "assignment: `set x = 3`."),
    command("show", "show settings, or what the debugger remembers", "control.show", group=SUPPORT,
            operands="[SETTING]", completes="shown", repeats="same",
            help="Without a name: all settings. The first word of several names shows all of them."),
    command("show values", "the value history", "values.show_values", group=SUPPORT, operands="[N]", repeats="same",
            help="The last ten, or ten around N."),
    command("show convenience", "the convenience variables", "values.show_convenience", group=SUPPORT, aliases="conv",
            repeats="same",
            help="`set $x = EXPR` sets them. Those that begin with $_ describe the selection, and cannot be set."),
    command("show version", "the version of dwarfgpu", "control.show_version", group=SUPPORT, repeats="same",
            help="Also the version of Python."),
    command("show user", "the commands that were defined", "scripts.show_user", group=SUPPORT, operands="[NAME]",
            completes="macro", repeats="same", help="Without a name: all commands."),
    command("define", "define a command: the lines up to `end`", "scripts.define", group=SUPPORT, operands="NAME",
            completes="macro",
            help="The lines up to `end` are the command, where $arg0, $arg1, ... are its operands and $argc their "
                 "number. You can redefine a command of the debugger."),
    command("end", "end the lines of a `define`", "scripts.stray", group=SUPPORT, help="By itself it means nothing."),
    command("alias", "define another name for a command", "scripts.alias", group=SUPPORT,
            operands="[NAME = COMMAND...]", options=(option("-a", "accepted as in GDB, without effect"),),
            completes="alias",
            help="`alias v = info registers` makes v another name; further words stay in front of the typed "
                 "operands. Without arguments: the defined aliases."),
    command("source", "run the commands of a file, or a Python script", "scripts.source", group=SUPPORT,
            operands="FILE",
            help="A file whose name ends in .py is a Python script, where `import dwarfgpu.gdb as dg` has the "
                 "selection. A script ends at the first command that fails."),
    command("pipe", "send the output of a command to a program", "scripts.pipe", group=SUPPORT, aliases="|",
            operands="COMMAND | PROGRAM", options=(option("-d WORD", "a word in place of the bar"),), repeats="same",
            help="`pipe bt | grep main`, or `| bt | grep main`. With `-d` another word separates the command from "
                 "the program, so that the command can contain a bar. The shell runs the program; $_shell_exitcode "
                 "is its exit status."),
    command("shell", "run a program", "scripts.shell", group=SUPPORT, aliases="!", operands="[PROGRAM...]",
            completes="path", help="Without a program: a shell. Its exit status is $_shell_exitcode."),
    command("with", "run a command with another value of a setting", "control.with_", group=SUPPORT, aliases="w",
            operands="SETTING VALUE -- COMMAND", repeats="same",
            help="`with print pretty on -- print s`: afterwards the setting has its earlier value, even if the "
                 "command fails."),
    command("complete", "the possible completions of a line", "completion.show_completions", group=SUPPORT,
            operands="LINE", completes="command", help="A line for each completion, as Tab shows them."),
    command("echo", "write a text", "control.echo", group=SUPPORT, operands="TEXT",
            help="Escapes are those of C: `echo done\\n`. There is no line end unless the text has one."),
    command("tui", "the full screen: source, variables in every lane, command line", "control.tui", group=SUPPORT,
            operands="[enable|disable]",
            help="^X a, `tui disable` or `quit` leaves the full screen. `layout` chooses its contents."),
    command("layout", "choose what the full screen shows: source, instructions, both, or registers", "control.layout",
            group=SUPPORT, operands="[src|asm|split|regs|next|prev]", completes="layout",
            help="`layout src` shows the source, asm the instructions, split both, and regs the source with "
                 "registers instead of variables; next and prev change to the following or previous layout. The "
                 "command also opens the full screen."),
    command("focus", "accepted as in GDB: the keys of the full screen need no focus", "control.focus", group=SUPPORT,
            aliases="fs", operands="[WINDOW]",
            help="Arrow keys change lane and frame and edit the command line, whichever window is meant: src, asm, "
                 "regs, cmd, next or prev."),
    command("refresh", "draw the full screen again", "control.refresh", group=SUPPORT, help="^L does the same."),
    command("quit", "leave the debugger", "control.quit_", group=SUPPORT, aliases="q exit", operands="[STATUS]",
            help="STATUS is the exit status, 0 without one."),
)
# fmt: on

AT_SHELL = {name: row for row in COMMANDS if row.shell is not None for name in row.shell.names}
"""The rows by the names that they have at the shell."""
