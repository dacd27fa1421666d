"""What logs say of faults of a GPU, against the documentation of the driver and the words of the runtimes."""

import contextlib
import json
import random

from dwarfgpu.audits.faults.fault_log import logged_faults, reported_address
from dwarfgpu.errors import NotFound
from tests.builders.commands import run
from tests.builders.errors import raised
from tests.builders.parameters import for_each

FILE = "fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.co"
DOCUMENTED = """\
 [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 pasid:32777, for process glxinfo pid 2424 thread g:cs0 pid 5)
   in page starting at address 0x0000800102800000 from IH client 0x1b (UTCL2)
 VM_L2_PROTECTION_FAULT_STATUS:0x00301030
 \tFaulty UTCL2 client ID: TCP (0x8)
 \tMORE_FAULTS: 0x0
 \tWALKER_ERROR: 0x0
 \tPERMISSION_FAULTS: 0x3
 \tMAPPING_ERROR: 0x0
 \tRW: 0x0
"""
"""The page fault that the kernel's documentation decodes ("GPU Debugging"): a shader has read an invalid page."""
INVALID = "the page is not valid, it may not be read"
READ = {"process": "glxinfo, pid 2424", "access": "read", "client": "TCP", "page table": INVALID}
COPY = """\
[2480.7277] amdgpu 0000:0e:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:173 vmid:8 pasid:32791)
[2480.7277] amdgpu 0000:0e:00.0: amdgpu:  Process python3 pid 15615 thread python3 pid 15615
[2480.7277] amdgpu 0000:0e:00.0: amdgpu:   in page starting at address 0x00007febd6383000 from client 10
[2480.7277] amdgpu 0000:0e:00.0: amdgpu: GCVM_L2_PROTECTION_FAULT_STATUS:0x00841B5B
[2480.7277] amdgpu 0000:0e:00.0: amdgpu: \t Faulty UTCL2 client ID: SDMA0 (0xd)
[2480.7277] amdgpu 0000:0e:00.0: amdgpu: \t MORE_FAULTS: 0x1
[2480.7277] amdgpu 0000:0e:00.0: amdgpu: \t WALKER_ERROR: 0x5
[2480.7277] amdgpu 0000:0e:00.0: amdgpu: \t PERMISSION_FAULTS: 0x5
[2480.7277] amdgpu 0000:0e:00.0: amdgpu: \t MAPPING_ERROR: 0x1
[2480.7277] amdgpu 0000:0e:00.0: amdgpu: \t RW: 0x1
"""
WROTE = {"process": "python3, pid 15615", "access": "write", "client": "SDMA0"}
ROCR = "Memory access fault by GPU node-1 (Agent handle: 0x55c1) on address 0x7febd6383000. Reason: "
NOT_PRESENT = "Page not present or supervisor privilege"
HIP = ":0:rocdevice.cpp: Memory Fault Error [host: h, GPU index: 0,\n faulting addr: 0x7febd6383000, kernel: f(int [])]"
QUEUE = ":0:rocdevice.cpp:2984: Callback: Queue 0x7f aborting with error : HSA_STATUS_ERROR_{}: The agent ..."


def told(text):
    """Return the page of each fault, and its facts by name, with the last one of a name."""
    return [(fault.page, {fact.name: fact.value for fact in fault.facts}) for fault in logged_faults(text)]


@for_each("text, page, facts",
    (DOCUMENTED, 0x800102800000, READ),
    (DOCUMENTED.replace("\n", "\r\n"), 0x800102800000, READ),
    (DOCUMENTED.partition(" \tFaulty")[0], 0x800102800000, {"access": "read"}),
    (DOCUMENTED.replace("0x00301030", "0x00000000"), 0x800102800000, {"access": "not known"}),
    (DOCUMENTED.replace("RW: 0x0", "RW: 0x1"), 0x800102800000, {"access": "not known"}),
    (DOCUMENTED.replace("vmid:3", "vmid:0"), 0x800102800000, {"process": "vmid 0"}),
    (COPY, 0x7FEBD6383000, WROTE),
    ("\n".join(reversed(COPY.splitlines())), 0x7FEBD6383000, WROTE),
    (COPY.replace("amdgpu: \t", "\x1b[31mamdgpu: \t\x1b[0m"), 0x7FEBD6383000, WROTE),
    (COPY + ROCR + "Unknown.", 0x7FEBD6383000, {**WROTE, "reason": "Unknown", "GPU": "node-1"}),
    (ROCR + NOT_PRESENT + ".\nAborted (core dumped)", 0x7FEBD6383000, {"GPU": "node-1", "reason": NOT_PRESENT}),
    (ROCR.replace(". Reason", ".\n   Reason") + NOT_PRESENT, 0x7FEBD6383000, {"reason": NOT_PRESENT}),
    ("Memory access fault by GPU node-3 on address (nil). Reason: Unknown.", 0, {"GPU": "node-3"}),
    (ROCR.replace("000. ", "000(may not be exact address). "), 0x7FEBD6383000, {"address": "may not be exact address"}),
    (HIP, 0x7FEBD6383000, {"kernel": "f(int [])"}),
    ("Memory Fault Error [host: h, GPU index: 0, kernel: k]", None, {"kernel": "k"}),
    *((QUEUE.format(name), None, {"status": f"HSA_STATUS_ERROR_{name}"})
      for name in ("MEMORY_APERTURE_VIOLATION", "ILLEGAL_INSTRUCTION", "EXCEPTION", "MEMORY_FAULT")),
    ("HW Exception by GPU node-1 (Agent handle: 0x563e71f098b0) reason :GPU Hang", None, {"reason": "GPU Hang"}),
)  # fmt: skip
def test_a_line_says_what_its_writer_means(text, page, facts):
    ((found, known),) = told(f"something else\n{text}\nand more")
    assert found == page
    assert known | facts == known


def test_each_page_is_one_fault_and_the_process_counts_before_the_driver():
    other = COPY.replace("6383000", "6380000").replace("0e:00", "03:00").replace("15615", "7")
    mixed = "\n".join(line for pair in zip(COPY.splitlines(), other.splitlines(), strict=True) for line in pair)
    assert [(page, facts["process"]) for page, facts in told(mixed)] == [
        (0x7FEBD6383000, "python3, pid 15615"), (0x7FEBD6380000, "python3, pid 7")]  # fmt: skip
    faults = logged_faults(other * 3 + COPY + ROCR)
    assert [(fault.line, fault.times) for fault in faults] == [(1, 3), (31, 1)]
    assert reported_address(faults) == 0x7FEBD6383000


@for_each("text", "", "Memory access fault", "HSA_STATUS_ERROR_INVALID_ARGUMENT", "GPU core dump failed", "\0" * 100)
def test_a_log_without_a_fault_is_one_error(text):
    assert raised(NotFound, logged_faults, text).kind == "no_fault"


def test_any_bytes_give_an_answer_soon():
    chance = random.Random(1)
    parts = [
        *DOCUMENTED.splitlines(),  *COPY.splitlines(),        ROCR,                      HIP,
        "GPU core dump failed",    "[" * 300,                 "process " * 40]  # fmt: skip
    for _time in range(200):
        text = "\n".join(chance.choice(parts)[chance.randrange(9) :] for _line in range(30)) + chr(
            chance.randrange(1, 999)
        )
        with contextlib.suppress(NotFound):
            logged_faults(text)
    assert len(logged_faults("noise of another driver\n" * 9_000 + COPY * 100)) == 1


# --- At the shell -------------------------------------------------------------------------------------------------


def test_the_kernels_of_the_file_are_named_and_the_way_to_a_core_file(tmp_path):
    (tmp_path / "log").write_text(f"{HIP.replace('f(int [])', 'saxpy')}\n{DOCUMENTED}\n")
    done = run("fault", "--log", str(tmp_path / "log"), FILE)
    assert done.returncode == 0
    for line in (
        "memory access fault in the page 0x7febd6383000 (line 1)", "  kernel      saxpy [HIP]",
        "memory access fault in the page 0x800102800000 (line 3)", "  access      read: RW 0x0 [amdgpu]",
        "not in the log: work-group, lane, line, argument", "the log names saxpy",
        "  dwarfgpu fault gpucore.PID --address 0x7febd6383000",
    ):  # fmt: skip
        assert line in done.stdout.splitlines()
    data = json.loads(run("fault", "--log", "-", FILE, "--json", stdin=(tmp_path / "log").read_bytes()).stdout)
    assert [row["page"] for row in data["logged"]] == ["0x7febd6383000", "0x800102800000"]
    assert "saxpy" in data["kernels"]
    assert data["faults"] == []


def test_with_a_state_the_log_gives_the_address(tmp_path):
    file, state = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co", tmp_path / "crash.json"
    run(
        "run",
        file,
        *["saxpy", "x=ones(10)", "y=ones(64)", "a=2", "n=64", "--grid", "64", "--work-group", "64", "--state"],
        str(state),
    )
    stops = [wave["stop"] for wave in json.loads(state.read_text())["waves"] if "stop" in wave]
    address = int(next(stop["address"] for stop in stops if "address" in stop), 16)
    log = f"Memory access fault by GPU node-1 on address {address & -4096:#x}. Reason: Unknown."
    given = json.loads(run("fault", str(state), file, "--address", hex(address), "--json").stdout)
    logged = json.loads(run("fault", "--log", log, str(state), file, "--json").stdout)
    assert logged["faults"] == given["faults"]
    assert [row["page"] for row in logged["logged"]] == [hex(address & -4096)]


@for_each("words, error",
    (["--log", "nowhere.txt"], "nowhere.txt: No such file or directory"),
    (["--log", "README.md"], "the log has no line about a fault of a GPU"),
    (["--log", "a line"], "the log has no line about a fault of a GPU"),
    (["--log", "HSA_STATUS_ERROR_EXCEPTION", "a", "b"], "No such file or directory"),
    ([], "no state with waves"))  # fmt: skip
def test_errors(words, error):
    done = run("fault", *words)
    assert done.returncode
    assert error in done.stderr
