"""The docs say of each field what the server says."""

from __future__ import annotations

from pathlib import Path

from ensign.definitions.editing.words import page

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_fields_is_that_of_the_table() -> None:
    assert (DOCS / "agent-files.md").read_text(encoding="utf-8") == page(), "run `make docs`"
