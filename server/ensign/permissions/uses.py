"""What one simple command uses: the files it reads and writes, the commands it runs, and what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ensign.permissions import programs
from ensign.permissions.shell_words import Command, Fault, Word
from ensign.protocol.value import frozen


@frozen
class Touch:
    """A path that is read or written; `tree` when everything below it may be."""

    word: Word
    tree: bool = False


@frozen
class Doubt:
    """Why a rule for the program is not enough. A rule that spells out `token` is.

    Attributes:
        hidden: something may run that was not seen; no mode lifts the question and no prefix rule answers it.
    """

    reason: str
    token: str = ""
    hidden: bool = False


@dataclass(slots=True, kw_only=True)
class Uses:
    """Filled by the readers of single programs.

    Attributes:
        words: the command as rules see it, for example `git log` for `git -P log`.
        known: its options are understood, so that it reads and writes only what is listed.
        read_only: it neither writes nor runs anything.
        inner: commands it runs; each must be allowed on its own.
        inner_at: where the inner command begins in the words; a rule that reaches that far covers it too.
        inner_faults: doubts about a shell line given as text.
        suspects: what may run inside; held against deny and ask rules alone.
        needs_rule: a wrapper that only runs `inner` needs none.
        folders: other folders that it works in (`git -C`).
        pure: its words are no paths.
        mentions: words that may hold paths, in a program that is not understood.
    """

    words: tuple[Word, ...]
    known: bool = False
    read_only: bool = False
    pure: bool = False
    needs_rule: bool = True
    reads: list[Touch] = field(default_factory=list[Touch])
    writes: list[Touch] = field(default_factory=list[Touch])
    doubts: list[Doubt] = field(default_factory=list[Doubt])
    inner: list[Command] = field(default_factory=list[Command])
    inner_at: int = 0
    inner_faults: list[Fault] = field(default_factory=list[Fault])
    suspects: list[tuple[Word, ...]] = field(default_factory=list[tuple[Word, ...]])
    folders: list[Word] = field(default_factory=list[Word])

    def read(self, word: Word, *, tree: bool = False) -> None:
        """Note a path that is read."""
        self.reads.append(Touch(word=word, tree=tree))

    def write(self, word: Word, *, tree: bool = False) -> None:
        """Note a path that is written."""
        self.writes.append(Touch(word=word, tree=tree))
        self.read_only = False

    def doubt(self, reason: str, token: str = "", *, hidden: bool = False) -> None:
        """Note what a rule for the program does not cover."""
        self.doubts.append(Doubt(reason=reason, token=token, hidden=hidden))
        self.read_only = False


def part(word: Word, text: str) -> Word:
    """A word for the piece `text` of a known word."""
    return Word(raw=text, text=text, prefix=text, quoted=word.quoted, glob=word.glob)


DOT = Word(raw=".", text=".", prefix=".")


def option_is(written: str, option: str) -> bool:
    """Whether a long option is `option`, in full or cut short as GNU getopt allows."""
    name = written.partition("=")[0]
    return name == option or (len(name) > 2 and option.startswith(name))


def reader(uses: Uses, spec: programs.Reader) -> None:
    """Take the words of a reading program apart."""
    uses.known = uses.read_only = True
    uses.pure = spec.pure
    operands, given, tree = _split(uses, spec)
    if spec.pure:
        return
    if spec.pattern and not given:
        operands = operands[1:]
    tree = (tree or "*" in spec.tree) and not spec.lists
    for at, word in enumerate(operands):
        if spec.out is not None and at >= spec.out:
            uses.write(word)
        else:
            uses.read(word, tree=tree)
    if not operands and (tree or spec.lists):
        uses.read(DOT, tree=tree)


def _split(uses: Uses, spec: programs.Reader) -> tuple[list[Word], bool, bool]:
    """Return operands, whether the pattern was given by option, and whether whole folders are read."""
    operands: list[Word] = []
    given = tree = options_over = False
    words = list(uses.words[1:])
    while words:
        word = words.pop(0)
        text = word.text if word.text is not None else word.prefix
        if word.text is None and not text:
            _unknown(uses, spec, operands, word)
        elif options_over or not text.startswith("-") or text == "-":
            operands.append(word)
        elif text == "--":
            options_over = True
        elif word.text is None and not text.startswith("--"):
            uses.doubt(f"{word.raw!r} is an option known only to the shell")
        elif text.startswith("--"):
            given |= any(option_is(text, option) for option in spec.given if option.startswith("--"))
            tree |= any(option_is(text, option) for option in spec.tree if option.startswith("--"))
            _long(uses, spec, word, words)
        else:
            letters = _cluster(uses, spec, word, words)
            given |= any(f"-{letter}" in spec.given for letter in letters)
            tree |= any(f"-{letter}" in spec.tree for letter in letters)
    return operands, given, tree


def _unknown(uses: Uses, spec: programs.Reader, operands: list[Word], word: Word) -> None:
    """A word without a known beginning: a path, or an option."""
    settled = uses.words[0].text == "printf" and operands
    if (spec.risky or spec.writes or spec.tree) and not settled and not word.placed:
        uses.doubt(f"{word.raw!r} is known only to the shell and may be any path or option")
    operands.append(word)


def _long(uses: Uses, spec: programs.Reader, word: Word, rest: list[Word]) -> None:
    text = word.text if word.text is not None else word.prefix
    name, equals, value = text.partition("=")
    for option in spec.writes:
        if option.startswith("--") and option_is(text, option):
            target = part(word, value) if equals else (rest.pop(0) if rest else DOT)
            uses.write(target)
            return
    for option in spec.risky:
        if option.startswith("--") and option_is(text, option):
            uses.doubt(f"{name!r} {_WHY}", name)
            if equals:
                uses.suspects.append((part(word, value),))
            return
    if equals and word.text is None and not value:
        return
    if equals and ("file" in name or "from" in name) and not spec.pure:
        uses.read(part(word, value))


_WHY = "runs a program, writes, or takes names from elsewhere"


def _cluster(uses: Uses, spec: programs.Reader, word: Word, rest: list[Word]) -> str:
    """Take `-abc` apart and return the letters that are options."""
    text = word.text or word.prefix
    for option in (*spec.risky, *spec.writes):
        if len(option) > 2 and not option.startswith("--") and text == option:
            uses.doubt(f"{option!r} {_WHY}", option)
    for at, letter in enumerate(text[1:], start=1):
        option, attached = f"-{letter}", text[at + 1 :]
        if option in spec.writes:
            target = part(word, attached) if attached else (rest.pop(0) if rest else DOT)
            uses.write(target)
            return text[1 : at + 1]
        if option in spec.risky:
            uses.doubt(f"{option!r} {_WHY}", text, hidden=uses.words[0].text in ("printf", "test", "[", "[["))
        if letter in spec.values:
            value = part(word, attached) if attached else (rest.pop(0) if rest else None)
            if value is not None and option == "-f" and option in spec.given:
                uses.read(value)
            return text[1 : at + 1]
    return text[1:]


def writer(uses: Uses, shape: str) -> None:
    """Take the words of a program that writes by nature apart."""
    name = uses.words[0].text or ""
    uses.known = True
    letters = programs.RECURSIVE.get(name.rpartition("/")[2], "")
    options = [word.text or word.prefix for word in uses.words[1:] if word.prefix.startswith("-")]
    tree = name == "mv" or any(
        option.startswith("--recursive") or (not option.startswith("--") and any(c in option for c in letters))
        for option in options
    )
    operands: list[Word] = []
    words = list(uses.words[1:])
    while words:
        word = words.pop(0)
        text = word.prefix
        if text in programs.TARGET_OPTIONS and words:
            uses.write(words.pop(0), tree=tree)
        elif text.startswith("--") and "=" in text:
            uses.write(part(word, text.partition("=")[2]), tree=tree) if text.startswith("--t") else None
        elif not text.startswith("-") or text == "-":
            operands.append(word)
    if shape == "of=":
        for word in operands:
            if word.prefix.startswith("of="):
                uses.write(_after_equals(word))
            elif word.prefix.startswith("if="):
                uses.read(_after_equals(word))
        return
    if shape == "rest":
        operands = operands[1:]
    last = operands[-1:] if shape == "last" else operands
    for word in operands[:-1] if shape == "last" else ():
        uses.read(word, tree=tree)
    for word in last:
        uses.write(word, tree=tree)


def _after_equals(word: Word) -> Word:
    value = word.prefix.partition("=")[2]
    return Word(raw=word.raw.partition("=")[2], text=None if word.text is None else value, prefix=value, glob=word.glob)
