"""One cell of a notebook is changed, and not a byte elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ensign.protocol.errors import ToolError
from ensign.tools.notebook_edit import changed
from tests.tools.bench import Bench

ODD = """{
 "metadata": {"kernelspec": {"name": "python3",   "language":"python"}, "odd": 1.50},
 "cells": [
  {
   "id": "one",
   "cell_type": "markdown",
   "metadata": {},
   "source": [
    "# Title ü\\n",
    "more"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "two",
   "metadata": {"tags": ["a",  "b"]},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": ["1\\n"]
    }
   ],
   "source": [
    "print(1)"
   ]
  }
 ],
 "nbformat": 4, "nbformat_minor": 5
}
"""


def edit(text: str, **arguments: Any) -> str:
    return changed(text, {"new_source": "", **arguments})[0]


def test_replacing_changes_the_source_and_clears_the_outputs_and_nothing_else() -> None:
    expected = (
        ODD.replace('    "print(1)"\n', '    "print(2)\\n",\n    "print(3)"\n')
        .replace('"execution_count": 3', '"execution_count": null')
        .replace(ODD[ODD.index('"outputs": [') : ODD.index('   "source": [\n    "print(1)"')], '"outputs": [],\n')
    )
    assert edit(ODD, cell_id="two", new_source="print(2)\nprint(3)") == expected
    assert edit(ODD, cell_id="one", new_source="ä") == ODD.replace('    "# Title ü\\n",\n    "more"\n', '    "ä"\n')


def test_deleting_and_inserting_keep_all_other_cells() -> None:
    first, second = ODD.index('  {\n   "id"'), ODD.index('  {\n   "cell_type": "code"')
    last = ODD.index('\n ],\n "nbformat"')
    assert edit(ODD, cell_id="one", edit_mode="delete") == ODD[:first] + ODD[second:]
    assert edit(ODD, cell_id="2", edit_mode="delete") == ODD[: second - 2] + ODD[last:]
    added = edit(ODD, cell_id="one", new_source="x = 1", cell_type="code", edit_mode="insert")
    new = json.loads(added)["cells"][1]
    assert new == {
        "cell_type": "code", "execution_count": None, "id": new["id"], "metadata": {}, "outputs": [],
        "source": ["x = 1"],
    }  # fmt: skip
    assert edit(added, cell_id=new["id"], edit_mode="delete") == ODD
    top = edit(ODD, new_source="x", cell_type="raw", edit_mode="insert")
    assert edit(top, cell_id="1", edit_mode="delete") == ODD
    assert [cell["cell_type"] for cell in json.loads(top)["cells"]] == ["raw", "markdown", "code"]


def test_a_cell_becomes_one_of_another_kind() -> None:
    cells = json.loads(edit(ODD, cell_id="two", new_source="text", cell_type="markdown"))["cells"]
    assert cells[1] == {"cell_type": "markdown", "id": "two", "metadata": {"tags": ["a", "b"]}, "source": ["text"]}
    cells = json.loads(edit(ODD, cell_id="one", new_source="1", cell_type="code"))["cells"]
    assert cells[0] == {
        "cell_type": "code", "execution_count": None, "id": "one", "metadata": {}, "outputs": [], "source": ["1"],
    }  # fmt: skip


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", [None, 1, 2, 4, "\t"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_every_way_of_writing_is_kept(
    *, separators: tuple[str, str], newline: str, indent: int | str | None, ascii_only: bool
) -> None:
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": ["a = 'ü'"],
    }
    data: dict[str, Any] = {"cells": [cell], "metadata": {"who": "ü"}, "nbformat": 4, "nbformat_minor": 4}

    def write(value: Any) -> str:
        pair = (separators[0].strip(), separators[1]) if indent else separators
        text = json.dumps(value, indent=indent, ensure_ascii=ascii_only, separators=pair)
        return text.replace("\n", newline)

    after = {**data, "cells": [{**cell, "source": ["ö = 1\n", "2"]}]}
    assert edit(write(data), cell_id="1", new_source="ö = 1\n2") == write(after)
    two: dict[str, Any] = {**data, "cells": [cell, {**cell, "source": ["b"]}]}
    assert edit(write(data), cell_id="1", new_source="b", cell_type="code", edit_mode="insert") == write(two)
    none: dict[str, Any] = {**data, "cells": []}
    assert edit(write(data), cell_id="1", edit_mode="delete") == write(none)
    assert edit(write(none), new_source="a = 'ü'", cell_type="code", edit_mode="insert") == write(data)


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        (ODD, {"cell_id": "three", "new_source": "x"}, "there are: one, two"),
        (ODD, {"new_source": "x"}, "needs cell_id"),
        (ODD, {"new_source": "x", "edit_mode": "insert"}, "needs cell_type"),
        (ODD, {"cell_id": "one", "new_source": "x", "edit_mode": "delete"}, "empty new_source"),
        ("{}", {"cell_id": "1"}, "is none of version 4"),
        ("[", {"cell_id": "1"}, "is none of version 4"),
        ('{"cells": [1], "nbformat": 4, "nbformat_minor": 5}', {"cell_id": "1"}, "is none of version 4"),
        ('{"worksheets": [], "nbformat": 3, "nbformat_minor": 0}', {"cell_id": "1"}, "is none of version 4"),
    ],
)
def test_what_cannot_be_done_says_what_could(text: str, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolError, match=words):
        edit(text, **arguments)


async def test_a_notebook_must_have_been_read_and_is_written_like_any_file(bench: Bench) -> None:
    path = bench.root / "a.ipynb"
    path.write_text(ODD, encoding="utf-8")
    change = {"notebook_path": "a.ipynb", "cell_id": "two", "new_source": "print(2)"}
    with pytest.raises(ToolError, match="you have not read it"):
        await bench.call("NotebookEdit", **change)
    await bench.call("Read", file_path="a.ipynb")
    output = await bench.call("NotebookEdit", **change)
    assert output.text.startswith("Edited a.ipynb (cell 2, ")
    assert [change.path for change in output.files] == [str(path)]
    assert "print(2)" in await bench.text("Read", file_path="a.ipynb")
    Path(path).write_text(ODD, encoding="utf-8")
    with pytest.raises(ToolError, match="read it again"):
        await bench.call("NotebookEdit", **change)
    bench.editor.notebooks.add(path)
    with pytest.raises(ToolError, match="unsaved changes; ask the person to save it first"):
        await bench.call("NotebookEdit", **change)
    with pytest.raises(ToolError, match="is no notebook"):
        await bench.call("NotebookEdit", notebook_path="a.txt", new_source="")
