"""A page of the web as text: what a reader would see, and where its links lead."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "head", "select"})
_BLOCKS = frozenset(
    {
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "br",
            "dd",
            "div",
            "dl",
            "dt",
            "figure",
            "footer",
            "form",
            "header",
        ),
        *(
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "li",
            "main",
            "nav",
            "ol",
            "p",
            "pre",
            "section",
            "table",
            "tr",
            "ul",
        ),
    }
)
_BLANKS = re.compile(r"[ \t\r\f\v\u00a0]+")
_GAPS = re.compile(r"\s*\n\s*\n\s*")


def page_text(html: str) -> str:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.text


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._silent: list[str] = []
        self._links: list[str] = []
        self._title = ""
        self._in_title = False

    @property
    def text(self) -> str:
        lines = (_BLANKS.sub(" ", line).strip() for line in "".join(self._parts).split("\n"))
        body = _GAPS.sub("\n\n", "\n".join(lines)).strip()
        title = " ".join(self._title.split())
        return f"{title}\n\n{body}".strip() if title else body

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag == "body":
            self._silent.clear()
        elif tag in _SILENT:
            self._silent.append(tag)
        elif tag == "a":
            self._links.append(dict(attrs).get("href") or "")
        if tag in _BLOCKS:
            self._parts.append("\n- " if tag == "li" else "\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _SILENT:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif tag == "a" and self._links:
            link = self._links.pop()
            if link.startswith(("http://", "https://", "/")) and not self._silent:
                self._parts.append(f" ({link})")
        if tag in _BLOCKS:
            self._parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title += data
        elif not self._silent:
            self._parts.append(data)
