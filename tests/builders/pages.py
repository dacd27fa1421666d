"""Pages that commands write: what is in them, and that they load nothing."""

import base64
import hashlib
import re
from html.parser import HTMLParser

VOID = {"meta", "input", "col", "br"}
LOADING = {"link", "img", "iframe", "object", "embed", "base", "form", "use", "image", "audio", "video"}


class Page(HTMLParser):
    """A page: its elements with their attributes, and the text of each section. Every element must be closed."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.comments: list[str] = []
        self.content = content
        self.feed(content)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} is there twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_comment(self, data):
        self.comments.append(data)

    def handle_data(self, data):
        names = [attributes.get("id") for tag, attributes in self.open if tag == "section"]
        owner = names[-1] if names else self.open[-1][0] if self.open else ""
        self.texts[owner] = self.texts.get(owner, "") + data

    def tags(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def sections(self) -> list[str]:
        return [attributes["id"] for attributes in self.tags("section")]

    @property
    def text(self) -> str:
        return "".join(self.texts.values())


def check_loads_nothing(page: Page) -> None:
    """Check that a page loads nothing, and that its policy allows its own style and script alone."""
    for tag, attributes in page.elements:
        assert tag not in LOADING
        assert not {"src", "srcset", "data", "action", "style", "ping"} & set(attributes), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    assert page.content.replace("http://www.w3.org/2000/svg", "").count("http:") == 0
    assert not re.search(r"https:|url\(|@import|fetch\(|XMLHttpRequest|import\(|localStorage", page.content)
    (policy,) = [meta["content"] for meta in page.tags("meta") if meta.get("http-equiv")]
    assert policy.startswith("default-src 'none'; ")
    for name, tag in (("style-src", "style"), ("script-src", "script")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page.content, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}';" in policy
