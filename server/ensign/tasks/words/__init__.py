"""The words that tools of this folder say to the model, one Markdown file each."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def text_of(name: str) -> str:
    """Return the words of `name`, without the final newline."""
    return (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8").rstrip("\n")
