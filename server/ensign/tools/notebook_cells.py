"""Changes of one cell in the text of a notebook; whatever is not changed stays byte for byte."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from typing import Any, Literal

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen
from ensign.tools.json_spans import Span, items, members, root

CellType = Literal["code", "markdown", "raw"]

_INDENT = re.compile(r"\A\s*\{\r?\n([ \t]+)\"")
_SHOWN = 20
_WITH_IDS = (4, 5)
"""The version of the format from which cells have ids."""


@frozen
class Style:
    """How a notebook's JSON is written: one level of indentation (empty: all in one line), separators, letters."""

    indent: str
    newline: str
    comma: str
    colon: str
    ascii: bool

    def dump(self, value: Any, prefix: str) -> str:
        """Write a value whose first line stands behind `prefix`."""
        if not self.indent:
            return json.dumps(value, ensure_ascii=self.ascii, separators=(self.comma, self.colon))
        text = json.dumps(value, ensure_ascii=self.ascii, indent=self.indent, separators=(",", self.colon))
        return text.replace("\n", f"{self.newline}{prefix}")


class Notebook:
    """The text of a notebook, and where its cells stand in it.

    Raises (from the constructor):
        ToolError: it is no notebook of version 4.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.style = style_of(text)
        try:
            top = members(text, root(text))
            self._cells = top["cells"]
            self.cells = items(text, self._cells.start)
            self._version = (int(top["nbformat"].value), int(top["nbformat_minor"].value))
            self.ids = [str(cell.value["id"]) if "id" in cell.value else "" for cell in self.cells]
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            raise ToolError(f"the file is named like a notebook but is none of version 4: {error}") from error

    def find(self, cell_id: str) -> int:
        """The index of a cell, by id, or by its number from 1 where no cell has that id.

        Raises:
            ToolError: there is none.
        """
        if cell_id in self.ids:
            return self.ids.index(cell_id)
        if cell_id.isdecimal() and 1 <= int(cell_id) <= len(self.cells):
            return int(cell_id) - 1
        known = [cell or str(number) for number, cell in enumerate(self.ids, 1)]
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        raise ToolError(f"there is no cell {cell_id!r}; there are: {', '.join(known[:_SHOWN]) or 'none'}{more}")

    def replaced(self, index: int, source: str, kind: CellType | None) -> str:
        """The text with another source in a cell, whose outputs are cleared."""
        cell = self.cells[index]
        if kind is not None and kind != cell.value.get("cell_type"):
            return self._put(cell, self.style.dump(self._as_kind(cell.value, source, kind), self._prefix(cell)))
        parts = members(self.text, cell.start)
        if "source" not in parts:
            raise ToolError(f"cell {index + 1} has no source")
        prefix = self._prefix(cell) + self.style.indent
        listed = isinstance(parts["source"].value, list)
        changes: dict[str, Any] = {"source": source.splitlines(keepends=True) if listed else source}
        if cell.value.get("cell_type") == "code":
            changes |= {"outputs": [], "execution_count": None}
        text = self.text
        for name, span in sorted(parts.items(), key=lambda part: part[1].start, reverse=True):
            if name in changes and span.value != changes[name]:
                text = text[: span.start] + self.style.dump(changes[name], prefix) + text[span.end :]
        return text

    def inserted(self, after: int | None, source: str, kind: CellType) -> tuple[str, str]:
        """The text with a new cell, and that cell's id (empty in versions without)."""
        cell_id = self._new_id() if self._version >= _WITH_IDS else ""
        cell = new_cell(kind, source, cell_id)
        style, end = self.style, self.style.newline if self.style.indent else ""
        if not self.cells:
            outer = self._prefix(self._cells)
            inner = outer + style.indent
            body = f"[{end}{inner}{style.dump(cell, inner)}{end}{outer}]" if end else f"[{style.dump(cell, '')}]"
            return self._put(self._cells, body), cell_id
        near = self.cells[after if after is not None else 0]
        prefix = self._prefix(near)
        gap = f",{end}{prefix}" if end else style.comma
        written = style.dump(cell, prefix)
        if after is None:
            return self.text[: near.start] + written + gap + self.text[near.start :], cell_id
        return self.text[: near.end] + gap + written + self.text[near.end :], cell_id

    def deleted(self, index: int) -> str:
        """The text without a cell."""
        cell = self.cells[index]
        if len(self.cells) == 1:
            return self._put(self._cells, "[]")
        if index + 1 < len(self.cells):
            return self.text[: cell.start] + self.text[self.cells[index + 1].start :]
        return self.text[: self.cells[index - 1].end] + self.text[cell.end :]

    def _put(self, span: Span, text: str) -> str:
        return self.text[: span.start] + text + self.text[span.end :]

    def _prefix(self, span: Span) -> str:
        """The white space before the line in which a value begins."""
        line = self.text[self.text.rfind("\n", 0, span.start) + 1 : span.start]
        return line[: len(line) - len(line.lstrip())] if self.style.indent else ""

    def _as_kind(self, cell: Mapping[str, Any], source: str, kind: CellType) -> dict[str, Any]:
        changed = {name: value for name, value in cell.items() if name not in {"outputs", "execution_count"}}
        if kind == "code":
            changed |= {"execution_count": None, "outputs": []}
            changed = dict(sorted(changed.items()))
        listed = isinstance(cell.get("source"), list)
        return {**changed, "cell_type": kind, "source": source.splitlines(keepends=True) if listed else source}

    def _new_id(self) -> str:
        made = (secrets.token_hex(4) for _ in iter(int, 1))
        return next(one for one in made if one not in self.ids)


def new_cell(kind: CellType, source: str, cell_id: str) -> dict[str, Any]:
    """A cell with its members in the order in which Jupyter writes them."""
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
    if cell_id:
        cell["id"] = cell_id
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return dict(sorted(cell.items()))


def style_of(text: str) -> Style:
    """Tell how a notebook is written from how it begins."""
    indented = _INDENT.match(text)
    tight = re.match(r'\s*\{\s*"(?:[^"\\]|\\.)*":\S', text) is not None
    return Style(
        indent=indented[1] if indented else "",
        newline="\r\n" if "\r\n" in text else "\n",
        comma="," if tight else ", ",
        colon=":" if tight else ": ",
        ascii=text.isascii()
        and re.search(r"(?<!\\)(?:\\\\)*\\u00[89a-f]|(?<!\\)(?:\\\\)*\\u[1-9a-f]", text) is not None,
    )
