"""The built-in tools; `base.py` says what a tool is. `WebFetch` keeps pages, so `app.py` makes it for each server."""

from __future__ import annotations

from ensign.tools.base import Tool
from ensign.tools.bash import BASH
from ensign.tools.edit import EDIT
from ensign.tools.glob import GLOB
from ensign.tools.grep import GREP
from ensign.tools.notebook_edit import NOTEBOOK_EDIT
from ensign.tools.read import READ
from ensign.tools.todo_write import TODO_WRITE
from ensign.tools.write import WRITE

BUILTIN: tuple[Tool, ...] = (READ, WRITE, EDIT, NOTEBOOK_EDIT, GLOB, GREP, BASH, TODO_WRITE)
