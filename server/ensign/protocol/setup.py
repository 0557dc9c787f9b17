"""What a person sets up from an editor: a new agent, a model that runs on this machine, a look at what is missing."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from ensign.protocol.value import Value, frozen


@frozen
class AgentCreate(Value):
    """`ensign/agent/create`: a new agent file of the project that `cwd` is in, or of the person.

    With `check` nothing is written: the answer, or the error, tells whether it could be.
    """

    name: str
    place: Literal["project", "user"]
    cwd: str | None = None
    check: bool = False


@frozen
class AgentCreated(Value):
    """Where the file is, and the text to be replaced in it: line and columns from 0, in UTF-16 units."""

    path: str
    line: int
    start: int
    end: int


@frozen
class ModelList(Value):
    """`ensign/model/list`; with `local`, servers on this machine are asked which models they have (at most 300 ms)."""

    local: bool = False


@frozen
class SecretSet(Value):
    """`ensign/model/key`: a provider's key from the editor's secret store; kept in memory alone."""

    provider: str
    key: str = field(repr=False)


@frozen
class DoctorPage(Value):
    """Answer to `ensign/doctor`: what was checked, as Markdown."""

    text: str
