"""A Jupyter notebook as text: its cells, and the words of their outputs."""

from __future__ import annotations

import json
from typing import Any

from ensign.protocol.errors import ToolError

_MAX_OUTPUT_CHARS = 2000


def as_text(source: str) -> str:
    """Return the cells of a notebook (nbformat 4), each below a line with its number, kind and id.

    Raises:
        ToolError: it is no notebook.
    """
    try:
        cells = json.loads(source)["cells"]
        return "\n".join(_cell(number, cell) for number, cell in enumerate(cells, 1))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ToolError(f"the file is named like a notebook but is none: {error}") from error


def _cell(number: int, cell: dict[str, Any]) -> str:
    head = f"# cell {number} ({cell['cell_type']}{', id ' + cell['id'] if 'id' in cell else ''})"
    parts = [head, _joined(cell.get("source", ""))]
    for output in cell.get("outputs", ()):
        text = _output(output)
        if len(text) > _MAX_OUTPUT_CHARS:
            text = f"{text[:_MAX_OUTPUT_CHARS]}[... {len(text) - _MAX_OUTPUT_CHARS:,} characters cut]"
        parts.append(f"# output\n{text}")
    return "\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    if "text" in output:
        return _joined(output["text"])
    if output.get("output_type") == "error":
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    data: dict[str, Any] = output.get("data", {})
    if "text/plain" in data:
        return _joined(data["text/plain"])
    return f"[{', '.join(data) or 'nothing'}]"


def _joined(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)
