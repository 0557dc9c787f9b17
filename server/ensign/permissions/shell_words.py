"""What a shell line is made of, once read: words, redirects, commands and the doubts about them."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from ensign.protocol.value import frozen


@frozen
class Word:
    """One word after quote removal.

    Attributes:
        raw: as written.
        text: the value; None when it depends on something only the shell will know.
        prefix: the literal text before the first unknown piece (all of `text` when it is known).
        quoted: some part was quoted, so that it is no keyword and no glob by accident.
        glob: holds an unquoted `*`, `?` or `[`.
        splits: may become several words or none (an unquoted unknown).
        tilde: begins with an unquoted `~`.
        below: what a program like `find` puts here lies below this folder, as spelled.
        variable: the variable whose whole value, quoted, this is.
        choices: what the variable may hold, when a loop over known words says so.
    """

    raw: str
    text: str | None
    prefix: str = ""
    quoted: bool = False
    glob: bool = False
    splits: bool = False
    tilde: bool = False
    below: str | None = None
    variable: str = ""
    choices: tuple[Word, ...] = ()

    @property
    def placed(self) -> bool:
        """Whether it is unknown, but surely a path in a known place, and no option."""
        return self.below is not None or bool(self.choices)

    @property
    def known(self) -> bool:
        """Whether the shell passes exactly `text`."""
        return self.text is not None and not self.glob


def literal(text: str) -> Word:
    """A word that stands for itself."""
    return Word(raw=text, text=text, prefix=text, quoted=True)


@frozen
class Fault:
    """A reason why a line, or a part of it, cannot be judged.

    Attributes:
        hidden: something could run or be touched that was not seen; no mode lifts that question. Otherwise every
            command was seen and only the flow between them is unusual.
    """

    reason: str
    hidden: bool = True


class RedirectKind(StrEnum):
    """What a redirect does with its target."""

    READ = "read"
    WRITE = "write"
    TEXT = "text"


@frozen
class Redirect:
    """`> target`, `< target`, or text given as standard input (here-document, here-string)."""

    kind: RedirectKind
    target: Word


@frozen
class Move:
    """A change of directory before a command; `certain` when the command runs only if it succeeded."""

    to: Word | None
    certain: bool


@frozen
class Command:
    """One simple command.

    Attributes:
        text: as written, for people.
        assignments: names and values set before it.
        moves: the changes of directory that come before it.
        feeds: words of the command whose output is its input, when that is known (`echo x | sh`).
    """

    text: str
    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    moves: tuple[Move, ...] = ()
    faults: tuple[Fault, ...] = ()
    feeds: tuple[Word, ...] = ()


@frozen
class Script:
    """A whole line, read.

    Attributes:
        commands: every command that was found, in whatever place.
        faults: doubts about the line as a whole.
        suspects: runs of words that might be commands in another reading of a doubtful line; held against deny
            rules alone.
    """

    commands: tuple[Command, ...]
    faults: tuple[Fault, ...] = ()
    suspects: tuple[tuple[Word, ...], ...] = field(default=())
