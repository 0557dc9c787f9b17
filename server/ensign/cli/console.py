"""What a command has of its process, and the exit codes of `contract.md`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from ensign.cli.output import Output
from ensign.cli.text import harmless
from ensign.protocol.codec import to_wire
from ensign.protocol.value import frozen

DONE, FAILED, WRONG_USE, PARTIAL, DENIED, INTERRUPTED = 0, 1, 2, 3, 4, 130


@frozen
class Console:
    """Where a command works and whom it talks to.

    Attributes:
        out: reports and JSON; `err`: progress and everything else that is said to people.
        source: standard input, None when it is closed.
    """

    cwd: Path
    environment: Mapping[str, str]
    out: Output
    err: Output
    source: TextIO | None

    def print(self, text: str) -> None:
        """Write lines for whoever asked, harmless where a terminal would obey them."""
        self.out.write((harmless(text) if self.out.terminal else text) + "\n")

    def print_json(self, value: object) -> None:
        """Write one object on one line."""
        self.out.write(json.dumps(to_wire(value), ensure_ascii=False) + "\n")

    def say(self, text: str) -> None:
        """Tell a person something that is not the result."""
        self.err.write(f"ensign: {harmless(text)}\n")
