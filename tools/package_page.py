"""The page of the package: the README with links that work outside of the repository, as hatchling asks for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"\[([^\]]*)\]\((?!https?://)([^)]+)\)")


def page(readme: str, repository: str) -> str:
    """Return the README with the address of the repository in its links; without one, with the texts of the links."""
    return LINK.sub(rf"[\1]({repository}/blob/main/\2)" if repository else r"\1", readme)


class PackagePage(MetadataHookInterface):  # type: ignore[misc]
    """Adds the README and the addresses to the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the fields that pyproject.toml calls dynamic."""
        repository: str = self.config.get("repository", "")
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": page(readme, repository)}
        metadata["urls"] = {}
        if repository:
            places = {
                "Source": "",
                "Documentation": "/blob/main/docs/README.md",
                "Changelog": "/blob/main/CHANGELOG.md",
            }
            metadata["urls"] = {name: f"{repository}{place}" for name, place in places.items()}
