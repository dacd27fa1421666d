"""The configurations of docs/editors.md, run as they stand, and the manifest of the extension."""

import json
import re
from typing import Any

import pytest

from dwarfgpu.execution.launch.options import OPTIONS
from tests.builders.dap_client import INITIALIZE, LocalClient
from tests.builders.folders import ROOT

PAGE = (ROOT / "docs/editors.md").read_text()
MANIFEST = json.loads((ROOT / "tools/vscode/package.json").read_text())["contributes"]["debuggers"][0]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def of_vscode() -> list[dict[str, Any]]:
    (text,) = blocks("json")
    found: list[dict[str, Any]] = json.loads(text.replace("${workspaceFolder}", str(ROOT / "dwarfgpu/examples")))[
        "configurations"
    ]
    return found


def of_neovim() -> list[dict[str, Any]]:
    """Return the tables in a table of Lua that have a request."""
    (text,) = blocks("lua")
    (table,) = re.findall(r"dap\.configurations\.opencl = \{\n  (\{.*?\n  \}),", text, re.DOTALL)
    as_list = re.sub(r"args = \{(.*?)\}", r"args = [\1]", table)
    as_json = re.sub(r"(\w+) = ", r'"\1": ', as_list)
    return [json.loads(re.sub(r",\s*\}", "}", as_json).replace("${workspaceFolder}", str(ROOT / "dwarfgpu/examples")))]


@pytest.mark.parametrize("given", [*of_vscode(), *of_neovim()], ids=["launch", "attach", "neovim"])
def test_a_configuration_works_as_it_stands(given: dict[str, Any], require_tool: Any) -> None:
    if given["program"].endswith(".cl"):
        require_tool("clang-22", "clang")
    how = {key: value for key, value in given.items() if key not in ("name", "type", "request")}
    client = LocalClient()
    client.ask("initialize", **INITIALIZE)
    number = client.send(given["request"], **how)
    client.event("initialized")
    client.ask("configurationDone")
    assert client.answer(number)["success"]
    stop = client.event("stopped")
    assert stop["threadId"] == 1
    assert client.top()["source"]["path"].startswith(str(ROOT))
    client.close()


def test_the_manifest_has_what_the_page_has() -> None:
    assert (MANIFEST["type"], MANIFEST["runtime"], MANIFEST["runtimeArgs"]) == ("dwarfgpu", "dwarfgpu", ["dap"])
    table = PAGE[PAGE.index("| key |") : PAGE.index("## Lanes")]
    named = {name for row in table.strip().splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    for request in ("launch", "attach"):
        attributes = MANIFEST["configurationAttributes"][request]
        assert set(attributes["required"]) <= set(attributes["properties"]) <= named
    for snippet in MANIFEST["configurationSnippets"]:
        body = snippet["body"]
        assert set(body) - {"name", "type", "request"} <= set(
            MANIFEST["configurationAttributes"][body["request"]]["properties"]
        )
    options = {re.sub(r"-(\w)", lambda match: match[1].upper(), name) for name in OPTIONS}
    assert options <= named
