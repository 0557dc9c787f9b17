"""Writes Markdown from the tags and texts of a page, in the order of the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urljoin

_BLOCKS = frozenset(
    (
        *("p", "div", "section", "article", "main", "header", "footer", "aside", "nav", "figure", "figcaption", "form"),
        *(
            "address",
            "details",
            "summary",
            "fieldset",
            "dl",
            "dt",
            "dd",
            "caption",
            "body",
            "html",
            "pre",
            "blockquote",
        ),
        *("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "table", "tr", "hr"),
    )
)
_APART = frozenset(("p", "figure", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "pre", "blockquote", "table"))
_CODE = frozenset(("code", "kbd", "samp", "tt"))
_HEADING = re.compile(r"h[1-6]")
_DEEPEST = 8
"""Nesting that is shown; deeper means nothing to a reader, and each line would repeat it."""

Attributes = Mapping[str, str | None]


class MarkdownWriter:
    """Collects the pieces of one line at a time; a block's beginning or end writes the line."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lines: list[str] = []
        self._inline: list[str] = []
        self._heads: list[str] = []  # what the next line of each open item and quote begins with
        self._rests: list[str] = []  # and the lines after it
        self._lists: list[int | None] = []  # the next number; None: bullets
        self._links: list[tuple[int, str]] = []
        self._pre = 0
        self._tables = 0
        self._rows: list[list[str]] = []
        self._heading = ""

    def text(self, text: str) -> None:
        """Take the text between two tags."""
        self._inline.append(text if self._pre else re.sub(r"\s+", " ", text))

    def enter(self, name: str, attributes: Attributes) -> None:
        """Take an opening tag."""
        if name in _BLOCKS:
            self._break(apart=name in _APART)
        if name == "pre":
            self._pre += 1
        elif name in _CODE and not self._pre:
            self._inline.append("`")
        elif name == "br":
            self._inline.append("\n")
        elif name == "img" and (alt := " ".join((attributes.get("alt") or "").split())):
            self._inline.append(f"[image: {alt}]")
        elif name == "a":
            self._links.append((len(self._inline), attributes.get("href") or ""))
        elif name == "table":
            self._tables += 1
        elif self._tables:
            if name == "tr" and self._tables == 1:
                self._rows.append([])
        else:
            self._enter_block(name)

    def leave(self, name: str) -> None:
        """Take a closing tag."""
        if name in {"td", "th"} and self._tables == 1:
            self._end_cell()
        elif name == "table":
            self._end_table()
        elif name == "pre":
            self._end_pre()
        elif name in _CODE and not self._pre:
            self._inline.append("`")
        elif name == "a":
            self._end_link()
        elif name in _BLOCKS:
            self._break(apart=name in _APART)
            if not self._tables:
                self._leave_block(name)

    def finish(self) -> str:
        """Return all of it."""
        self._break(apart=False)
        return "\n".join(self._lines).strip("\n")

    def _enter_block(self, name: str) -> None:
        if _HEADING.fullmatch(name):
            self._heading = "#" * int(name[1]) + " "
        elif name in {"ul", "ol"}:
            self._lists.append(1 if name == "ol" else None)
        elif name == "li":
            number = self._lists[-1] if self._lists else None
            mark = "- " if number is None else f"{number}. "
            if number is not None:
                self._lists[-1] = number + 1
            self._heads.append(mark)
            self._rests.append(" " * len(mark))
        elif name == "blockquote":
            self._heads.append("> ")
            self._rests.append("> ")
        elif name == "hr":
            self._write("---")

    def _leave_block(self, name: str) -> None:
        if _HEADING.fullmatch(name):
            self._heading = ""
        elif name in {"ul", "ol"} and self._lists:
            self._lists.pop()
        elif name in {"li", "blockquote"} and self._heads:
            self._heads.pop()
            self._rests.pop()

    def _break(self, *, apart: bool) -> None:
        """Write the line that is there; within a table a space will do."""
        if self._tables:
            self._inline.append(" ")
            return
        if self._pre:
            return
        text = "".join(self._inline)
        self._inline.clear()
        lines = [" ".join(line.split()) for line in text.split("\n")]
        for line in lines:
            if line:
                self._write(self._heading + line)
        if apart and not self._lists:
            self._blank()

    def _write(self, line: str) -> None:
        self._lines.append("".join(self._heads[:_DEEPEST]) + line)
        self._heads[:] = self._rests

    def _blank(self) -> None:
        line = "".join(self._rests[:_DEEPEST]).rstrip()
        if self._lines and self._lines[-1] not in {line, ""}:
            self._lines.append(line)

    def _end_link(self) -> None:
        start, href = self._links.pop() if self._links else (0, "")
        text = " ".join("".join(self._inline[start:]).split())
        if self._pre or not text or href.startswith("#"):
            return
        try:
            target = urljoin(self._url, href.strip())
        except ValueError:
            return
        if href and target.startswith(("http://", "https://", "mailto:")):
            self._inline[start:] = [f" [{text}](", re.sub(r"[\s()<>]", _encoded, target), ")"]

    def _end_pre(self) -> None:
        self._pre = max(self._pre - 1, 0)
        if self._pre or self._tables:
            return
        text = "".join(self._inline).strip("\n").expandtabs(4)
        self._inline.clear()
        if text.strip():
            for line in ("```", *text.split("\n"), "```"):
                self._write(line.rstrip())
            self._blank()

    def _end_cell(self) -> None:
        cell = " ".join("".join(self._inline).split())
        self._inline.clear()
        if not self._rows:
            self._rows.append([])
        self._rows[-1].append(cell.replace("|", "\\|"))

    def _end_table(self) -> None:
        self._tables = max(self._tables - 1, 0)
        if self._tables:
            return
        rows = [row for row in self._rows if any(row)]
        self._rows = []
        columns = max((len(row) for row in rows), default=0)
        for number, row in enumerate(rows):
            if columns == 1:  # a table for the layout
                self._write(row[0])
                continue
            cells = row + [""] * (columns - len(row))
            self._write(f"| {' | '.join(cells)} |")
            if number == 0:
                self._write("|" + " --- |" * columns)
        self._break(apart=True)


def _encoded(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"
