"""The page of the package has links that work outside of the repository, or none."""

import sys
import types

from tests.builders.folders import ROOT

README = (ROOT / "README.md").read_text("utf-8")


def test_links_are_absolute_or_their_text(monkeypatch):
    interface = types.SimpleNamespace(MetadataHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    from tools.package_page import LINK, page

    assert LINK.search(README)
    shown = page(README, "https://code.example/dwarfgpu")
    assert LINK.search(shown) is None
    assert "[Start](https://code.example/dwarfgpu/blob/main/docs/start.md)" in shown
    bare = page(README, "")
    assert "](" not in bare.replace("](https://", "")
    assert "line that set it (Start):" in bare
