import json
import re

import pytest

from tests.builders.commands import ROOT, run
from tests.builders.dwarf import die
from tests.builders.elf import ElfBuilder
from tests.builders.hostile import gpu, named, typed, variable
from tests.builders.parameters import for_each

GOOD = "fixtures/host/values.gcc.O0.v5.x86_64"
JUDGED = "fixtures/llvm24/hip-kernels.gfx1100.w32.O2.co"
TWO_GROUPS = "--grid", "128", "--work-group", "64", "out=zeros(128)", "limit=40"
"""A kernel in which a judge finds warnings and notes."""


@pytest.fixture
def bad(tmp_path):
    path = tmp_path / "bad.co"
    twice = die("variable", named("b"), named("c"), typed("int"))
    path.write_bytes(gpu(variable("a", location="DW_OP_lit1; DW_OP_plus"), twice))
    return path


def test_a_good_file_and_rules(tmp_path):
    done = run("verify", GOOD)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("entries: no findings\n")
    done = run("verify", "--rules")
    assert done.returncode == 0
    assert "entry-lanes  error  [A.3.3.5 (4)]" in done.stdout.splitlines()
    rules = json.loads(run("verify", "--rules", "--json").stdout)["rules"]
    assert {"rule", "severity", "clause", "summary", "advice"} == set(rules[0])


def test_findings_say_what_where_and_by_which_rule(bad):
    done = run("verify", bad, "--ignore", "line")
    text = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert "error: DW_OP_plus needs 2 stack entries, there are 1 [DWARF 5, 2.5.1.4 (10)]" in text
    assert "(expression-stack-underflow)" in text
    assert "in DW_TAG_compile_unit k.cl > DW_TAG_subprogram k > DW_TAG_variable a" in text
    assert "DW_AT_name is there 2 times [DWARF 5, 2.2] (entry-attribute-twice)" in text
    assert text.endswith("2 errors, 0 warnings")
    assert all(len(line) <= 80 or len(line.split()) == 1 for line in done.stdout.splitlines())  # a path may be longer


@for_each("words",
    ("verify", "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co", "-v", "--strict"),  # warnings
    ("verify", "fixtures/host/strict.gcc.v2.x86_64"),  # warnings
    ("verify", "--ops", "DW_OP_lit1; DW_OP_lit3; DW_OP_xderef; DW_OP_plus", "--target", "gfx90a"),
    ("judge", JUDGED, "_Z9divergentPii", *TWO_GROUPS, "--strict"),
    ("memmodel", "check", "fixtures/amdgpu/ordering.gfx1100.w32.O2.co"),
    ids=lambda words: " ".join(words[:2]))  # fmt: skip
@pytest.mark.sampled(6)
def test_colour_changes_no_text_of_findings(words):
    plain, coloured = run(*words), run(*words, "--color", "always")
    assert (coloured.returncode, coloured.stderr) == (1, "")
    assert coloured.stdout != plain.stdout == re.sub("\x1b\\[[0-9;]*m", "", coloured.stdout)


def test_idioms_are_one_line_unless_all_are_asked_for():
    words = ("verify", "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co")
    short, whole, data = run(*words), run(*words, "-v"), json.loads(run(*words, "--json").stdout)
    assert [short.returncode, whole.returncode, run(*words, "--strict").returncode] == [0, 0, 1]
    text = " ".join(short.stdout.split())
    assert "not counted (-v shows these, --strict counts them): 67 expression-wrong-kind, 67 expression-depr" in text
    assert "1 frame-empty: always written wrongly in one known way, an idiom, which dwarfgpu corrects" in text
    summary = "no findings, apart from idioms in 51 variables, which do not fail (135 findings not counted)"
    assert text.endswith(f"1 file, 173 entries: {summary}")
    assert whole.stdout.count("not counted: always written wrongly in one known way") == 21
    assert len(data["findings"]) == 135
    assert short.stdout.splitlines()[-1] == whole.stdout.splitlines()[-1]


def test_rules_and_parts_are_ignored_in_one_or_several_files(bad):
    done = run("verify", bad, "--ignore", "line,entry", "--ignore", "expression-stack-underflow")
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    done = run("verify", bad, "--ignore", "entri")
    assert done.returncode == 2
    assert "there is no rule 'entri'" in done.stderr
    assert "did you mean entry?" in done.stderr
    done = run("verify", bad, GOOD, "README.md", "--jobs", "2", "--ignore", "line")
    assert done.returncode == 3
    assert "3 files, " in done.stdout
    assert "(1 file could not be read)" in done.stdout
    assert "README.md is neither an ELF file nor an offload bundle" in done.stderr


def test_json_and_a_baseline(bad, tmp_path):
    done = run("verify", bad, GOOD, "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert document["schema"] == 1
    assert [each["file"] for each in document["files"]] == [str(bad), GOOD]
    assert {each["rule"] for each in document["findings"]} >= {"expression-stack-underflow", "entry-attribute-twice"}
    finding = next(each for each in document["findings"] if each["rule"] == "expression-stack-underflow")
    assert finding["path"][-1] == "DW_TAG_variable a"
    assert finding["section"] == ".debug_info"
    known = tmp_path / "known.json"
    assert run("verify", bad, "--json", "-o", known).returncode == 1
    done = run("verify", bad, "--baseline", known)
    assert done.returncode == 0
    assert f"({len(document['findings'])} of the baseline)" in done.stdout
    elsewhere = {**document, "findings": [
        {**each, "path": [entry.replace(" k.cl", " /else/where/k.cl") for entry in each["path"]]}
        for each in document["findings"]
    ]}  # fmt: skip
    known.write_text(json.dumps(elsewhere))  # written on another computer
    assert run("verify", bad, "--baseline", known).returncode == 0
    known.write_text("[]")
    done = run("verify", bad, "--baseline", known)
    assert (done.returncode, done.stdout) == (2, "")
    done = run("verify", bad, "--baseline", GOOD)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{GOOD} is not the JSON of a check" in done.stderr
    assert [json.loads(line) for line in run("verify", bad, "--jsonl").stdout.splitlines()][-1]["errors"] == 2


def test_sarif(bad):
    done = run("verify", bad, "README.md", "--sarif")
    log = json.loads(done.stdout)
    assert done.returncode == 3
    assert log["version"] == "2.1.0"
    (found,) = log["runs"]
    rules = found["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules) > 100
    for result in found["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert found["invocations"][0]["executionSuccessful"] is False


ARTIFACT = {"uri", "uriBaseId", "index", "description", "properties"}
MESSAGE = {"text", "markdown", "id", "arguments", "properties"}
SARIF = {
    "log": ({"version", "runs"}, {"$schema", "inlineExternalProperties", "properties"}),
    "run": ({"tool"}, {"invocations", "results", "artifacts", "originalUriBaseIds", "properties"}),
    "tool": ({"driver"}, {"extensions", "properties"}),
    "driver": ({"name"}, {"version", "semanticVersion", "informationUri", "rules", "properties"}),
    "rule": ({"id"}, {"name", "shortDescription", "fullDescription", "help", "defaultConfiguration", "properties"}),
    "defaultConfiguration": (set(), {"enabled", "level", "rank", "parameters", "properties"}),
    "invocation": ({"executionSuccessful"}, {"exitCode", "toolExecutionNotifications", "properties"}),
    "notification": ({"message"}, {"level", "locations", "descriptor", "properties"}),
    "result": ({"message"}, {"ruleId", "ruleIndex", "level", "kind", "locations", "partialFingerprints", "fingerprints",
                             "suppressions", "baselineState", "properties"}),
    "message": (set(), MESSAGE), "shortDescription": ({"text"}, {"markdown", "properties"}),
    "help": ({"text"}, {"markdown", "properties"}),
    "location": (set(), {"id", "physicalLocation", "logicalLocations", "message", "properties"}),
    "physicalLocation": (set(), {"artifactLocation", "region", "address", "properties"}),
    "artifactLocation": (set(), ARTIFACT),
    "region": (set(), {"startLine", "startColumn", "endLine", "endColumn", "snippet", "properties"}),
    "logicalLocation": (set(), {"name", "fullyQualifiedName", "kind", "index", "parentIndex", "properties"}),
}  # fmt: skip
"""What the schema of SARIF 2.1.0 requires of an object, and which more of its properties it may have (many more exist):
every object there has `additionalProperties: false`."""
ITEMS = {"runs": "run", "results": "result", "rules": "rule", "locations": "location", "invocations": "invocation",
         "logicalLocations": "logicalLocation", "toolExecutionNotifications": "notification"}  # fmt: skip


def check_sarif(kind, value):
    """Check an object of a log, and those inside."""
    required, allowed = SARIF[kind]
    assert required <= set(value) <= required | allowed, (kind, value)
    for name, inner in value.items():
        if name in ITEMS:
            assert isinstance(inner, list)
            for item in inner:
                check_sarif(ITEMS[name], item)
        elif name in SARIF:
            check_sarif(name, inner)
        elif name == "level":
            assert inner in ("none", "note", "warning", "error")
        elif name == "uri":
            assert re.fullmatch(r"(file://)?([A-Za-z0-9._~/!$&'()*+,;=@-]|%[0-9A-F]{2})+", inner)
        elif name in ("startLine", "startColumn"):
            assert inner >= 1
        elif name == "partialFingerprints":
            assert all(re.fullmatch("[^/]+(/[^/]+)*", key) and isinstance(text, str) for key, text in inner.items())
        elif name in ("text", "id", "name", "ruleId", "fullyQualifiedName"):
            assert isinstance(inner, str)
            assert inner


@for_each("words",
    ("verify", "{bad}", "fixtures/compilers/hip.clang19.gfx1100.w32.O2.v5.co", "README.md", "--strict"),
    ("judge", JUDGED, "_Z9divergentPii", *TWO_GROUPS),
    ("memmodel", "check", "fixtures/amdgpu/ordering.gfx1100.w32.O2.co"), ids=lambda words: words[0])  # fmt: skip
def test_sarif_has_what_its_schema_requires(words, tmp_path):
    """Required and known properties, levels, URIs without characters that are none of them, lines that count from 1."""
    bad = tmp_path / "a file, 100% \u00e4.co"
    bad.write_bytes((ROOT / "fixtures/host/split.gcc.v5.dwo").read_bytes())
    log = json.loads(run(*(word.format(bad=bad) for word in words), "--sarif").stdout)
    check_sarif("log", log)
    (of_tool,) = log["runs"]
    assert of_tool["originalUriBaseIds"] == {"%SRCROOT%": {"uri": f"{ROOT.as_uri()}/"}}
    for result in of_tool["results"]:
        assert of_tool["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        is_below = place.get("uriBaseId") == "%SRCROOT%"
        assert place["uri"].startswith("file:///") is not is_below, place
        assert not is_below or not place["uri"].startswith(("/", "../")), place
    if words[0] == "verify":
        assert [result for result in of_tool["results"] if result["properties"]["file"] == str(bad)]
    marks = [result["partialFingerprints"]["primaryLocationLineHash"] for result in of_tool["results"]]
    assert marks
    assert len(set(marks)) == len(marks)


def test_fingerprints_stay_where_lines_and_offsets_move(tmp_path):
    marks = []
    for folder, before in (("one", ()), ("two", (variable("first"), variable("second")))):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "k.co"
        path.write_bytes(
            gpu(*before, variable("a", location="DW_OP_lit1; DW_OP_plus"), variable("b", location="DW_OP_drop"))
        )
        (found,) = json.loads(run("verify", path, "--sarif", "--only", "expression").stdout)["runs"]
        marks.append({each["partialFingerprints"]["primaryLocationLineHash"] for each in found["results"]})
    assert len(marks[0]) == 2
    assert marks[0] == marks[1]


CHECKS = {
    "verify": ("verify", "fixtures/host/strict.gcc.v2.x86_64", "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co"),
    "judge": ("judge", JUDGED, "_Z9divergentPii", *TWO_GROUPS,
              "--strict"),
    "memmodel": ("memmodel", "check", "fixtures/amdgpu/ordering.gfx1100.w32.O2.co")}  # fmt: skip
RULE = {"verify": "list-outside", "judge": "statement-parameter", "memmodel": "order-wait-before"}


@pytest.mark.slow
@pytest.mark.usefixtures("judged_once")
@pytest.mark.parametrize("check", CHECKS)
def test_findings_are_chosen_alike_by_every_check(check, tmp_path):
    words, rule = CHECKS[check], RULE[check]
    part = rule.partition("-")[0]
    done = run(*words, "--json")
    document = json.loads(done.stdout)
    counts = {(each["rule"], each["severity"], each["limit"]): each["count"] for each in document["rules"]}
    assert done.returncode == 1
    assert sum(counts.values()) == len(document["findings"]) > 0
    found = [each for each in document["findings"] if each["rule"] == rule]
    assert sum(count for (name, _severity, _limit), count in counts.items() if name == rule) == len(found) > 0

    def rules_of(*more):
        done = run(*words, *more, "--json")
        return done.returncode, {each["rule"] for each in json.loads(done.stdout)["findings"]}

    every = {each["rule"] for each in document["findings"]}
    assert rules_of("--only", f"{rule},{rule}") == (1, {rule})
    assert rules_of("--ignore", rule)[1] == every - {rule}
    assert rules_of("--only", part, "--ignore", rule)[1] == {name for name in every - {rule} if name.startswith(part)}
    severities = tmp_path / "severities"
    severities.write_text(f"# nothing but this\n* off\n{rule} note # is told\n")
    assert rules_of("--severities", severities) == (0, {rule})
    severities.write_text(f"{rule} note\n* off\n")
    assert rules_of("--severities", severities) == (0, set())
    severities.write_text(f"* note\n{part} warning\n")
    assert rules_of("--severities", severities) == (1, every)
    severities.write_text(f"{rule} wrong\n")
    assert run(*words, "--severities", severities).returncode == 2
    known = tmp_path / "known.json"
    known.write_text(done.stdout)
    again = run(*words, "--baseline", known)
    assert (again.returncode, again.stderr) == (0, "")
    assert f"{len(document['findings'])} of the baseline" in " ".join(again.stdout.split())
    assert run(*words, "--require", "1000000").returncode == 3


@pytest.mark.parametrize("words, noun", [(["verify"], "entries"), (["memmodel", "check"], "instructions")])
def test_less_of_a_file_than_in_the_baseline_is_a_failure(words, noun, tmp_path):
    """The code without debugging information has no findings, too."""
    known = tmp_path / "known.json"
    words = [*words, "fixtures/amdgpu/ordering.gfx1100.w32.O2.co"]
    assert run(*words, "--json", "-o", known).returncode != 3
    document = json.loads(known.read_text())
    count = document["files"][0][noun]
    for before, status in ((2 * count, 0), (2 * count + 1, 3), ("many", 0)):
        document["files"] = [5, {"file": words[-1].rpartition("/")[2], noun: before}]
        known.write_text(json.dumps(document))
        done = run(*words, "--baseline", known)
        assert (done.returncode, f"{count} {noun} checked, {before} in the baseline" in done.stderr) == (
            status,
            status == 3,
        )
        for form in ("--json", "--sarif"):  # the reason is always said, and once
            done = run(*words, "--baseline", known, form)
            assert (done.returncode, done.stderr.count("in the baseline")) == (status, status // 3)
    document["files"] = {}
    known.write_text(json.dumps(document))
    assert run(*words, "--baseline", known).returncode == 0


def test_a_baseline_is_updated(bad, tmp_path):
    """What is known is not reported; what is new is, until the baseline has it; what is gone does no harm."""
    known = tmp_path / "known.json"
    assert run("verify", GOOD, "--json", "-o", known).returncode == 0
    assert run("verify", bad, "--baseline", known).returncode == 1
    assert run("verify", bad, "--json", "-o", known).returncode == 1
    assert run("verify", bad, "--baseline", known).returncode == 0
    assert run("verify", GOOD, "--baseline", known).returncode == 0


def test_findings_fit_the_screen_and_are_few_of_a_rule(tmp_path):
    path = tmp_path / "many.co"
    path.write_bytes(gpu(*(variable(f"v{n}", location="DW_OP_drop") for n in range(30))))
    done = run("verify", path, "--ignore", "line")
    assert done.stdout.count("(expression-stack-underflow)") == 10
    assert "and 20 more of expression-stack-underflow (--all shows them)" in " ".join(done.stdout.split())
    assert run("verify", path, "--all").stdout.count("(expression-stack-underflow)") == 30
    broken = tmp_path / "x"
    broken.write_bytes(b"x")
    done = run(
        "verify",
        "fixtures/amdgpu/cl-kernels.gfx1030.w32.O2.v5.co", "fixtures/amdgpu/code-object-v5.gfx906.co", broken, "-v",
    )  # fmt: skip
    words = " ".join(done.stdout.split())
    assert "more of expression-deprecated" in words
    assert "1 file could not be read" in words
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_names_from_a_file_do_not_steer_the_terminal(tmp_path):
    path = tmp_path / "evil.co"
    path.write_bytes(gpu(variable("\x1b[2Ja", location="DW_OP_drop"), kernel="k\x1b]0;x\x07"))
    done = run("verify", path)
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout


def test_relocations_that_are_not_supported_are_one_error_and_no_finding(tmp_path):
    """They are a limit of dwarfgpu, whichever sections have them."""
    builder = ElfBuilder(machine=183, type=1, osabi=0)
    targets = [builder.section(name, bytes(16)) for name in (".debug_info", ".debug_line")]
    symbols = builder.symbols([("a", 0, 4, 1, 1, targets[0])])
    for target in targets:
        builder.relocations(target, symbols, [(0, 257, 1, 0)])
    path = tmp_path / "arm64.o"
    path.write_bytes(builder.build())
    done = run("verify", path)
    assert done.stdout == ""
    assert done.stderr.count("relocations of machine 183 are not supported") == 1
