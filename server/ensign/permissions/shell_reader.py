"""From a shell line to its simple commands, by two readings that must agree: the grammar's and the lexer's.

The grammar (tree-sitter-bash) is the judge of what is shell at all: an allow-list of its node types, no error. The
lexer says which words there are. Where they differ the line is doubtful: it asks, and both readings are held against
the deny rules.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from ensign.permissions.programs import names
from ensign.permissions.shell_braces import expand, words_of
from ensign.permissions.shell_grammar import Reading, compare
from ensign.permissions.shell_lexer import Lexer
from ensign.permissions.shell_tokens import LexError, Piece, Token, readable, to_word
from ensign.permissions.shell_words import Command, Fault, Move, Redirect, RedirectKind, Script, Word, literal
from ensign.protocol.value import frozen

if TYPE_CHECKING:
    from tree_sitter import Tree

_SETTERS = names("read mapfile readarray declare typeset local export readonly let eval source . unset getopts")
_MAX_SUSPECTS = 4000
_MAX_MOVES = 12
_OPENERS = frozenset(("if", "then", "else", "elif", "while", "until", "do", "{", "!", "time"))
_CLOSERS = frozenset(("fi", "done", "}", "esac"))
_REFUSED = {
    "select": "`select` loops",
    "function": "a function is defined",
    "coproc": "a coprocess",
}
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=|\[)")
_CONTROL = frozenset((";", "&", "&&", "||", "|", "|&", "\n", "(", ")", ";;", ";&", ";;&"))
_ANSI_C = re.compile(r"\$'(?:[^'\\]|\\.)*'")
_LOOSE = re.compile(r"[;&|()`\n{}]|\$\(")


def suspicious(text: str) -> str | None:
    """Name the first character that makes a line look different from what it is, or None."""
    for char in text:
        if char in "\n\t" or " " <= char <= "~":
            continue
        kind = unicodedata.category(char)
        if kind in ("Cc", "Cf", "Zs", "Zl", "Zp", "Cs", "Co", "Cn"):
            return f"the invisible character U+{ord(char):04X}"
    return None


def read(text: str, parse: Callable[[bytes], Tree], variables: Mapping[str, str]) -> Script:
    """Read a line. Never raises on any text; what cannot be read is a fault."""
    odd = suspicious(text)
    if odd:
        text = "".join(char if suspicious(char) is None else " " for char in text)
    faults = [Fault(reason=f"holds {odd}")] if odd else []
    raw = text.encode("utf-8", "replace")
    lexer = Lexer(raw.decode("latin-1"), {name: _bytes(value) for name, value in variables.items()})
    try:
        runs = _Runs(lexer)
        runs.group(lexer.run(), ())
    except LexError as error:
        loose = tuple(islice(_loosely(text), _MAX_SUSPECTS))
        return Script(commands=(), faults=(*faults, Fault(reason=str(error))), suspects=loose)
    faults += lexer.faults
    check = compare(
        parse(raw).root_node, Reading(spans=runs.spans, heads=runs.heads, keywords=runs.keywords, tests=runs.tests)
    )
    faults += check
    if any(_sets(command, runs.loops) for command in runs.commands):
        faults.append(Fault(reason="a loop's variable is set in another way"))
    doubtful = any(fault.hidden for fault in (*check, *lexer.faults))
    suspects = tuple(islice(_loosely(text), _MAX_SUSPECTS)) if doubtful else ()
    return Script(commands=tuple(runs.commands), faults=tuple(faults), suspects=suspects)


def _bytes(value: str) -> str:
    return value.encode("utf-8", "replace").decode("latin-1")


def _decoded(found: re.Match[str]) -> str:
    try:
        return words_of(found[0])[0].text or ""
    except ValueError:
        return ""


def _loosely(text: str) -> Iterator[tuple[Word, ...]]:
    """Runs of words in the broadest readings: quotes dropped, braces taken as blanks and as nothing."""
    text = _ANSI_C.sub(_decoded, text.replace("\\\n", ""))
    readings = [text.replace(",", " "), re.sub(r"[{},]", "", text)] if "{" in text else [text]
    for part in (part for reading in readings for part in _LOOSE.split(reading)):
        words = re.sub(r"['\"\\]", "", part).split()
        for start in range(min(len(words), 40)):
            yield tuple(literal(word) for word in words[start : start + 40])


@dataclass(slots=True)
class _Run:
    """Tokens between two control operators."""

    words: list[Token] = field(default_factory=list[Token])
    redirects: list[tuple[Token, Token | None]] = field(default_factory=list[tuple[Token, Token | None]])

    def __bool__(self) -> bool:
        return bool(self.words or self.redirects)


@frozen
class _Around:
    """Where a run stands: between which operators, on a level that holds a loop."""

    before: str
    operator: str
    loop: bool

    @property
    def piped(self) -> bool:
        """Whether it reads another command's output, in a shell of its own."""
        return self.before in ("|", "|&")


@dataclass(slots=True)
class _Runs:
    """Groups tokens into simple commands and keeps the spans that the grammar must confirm."""

    lexer: Lexer
    commands: list[Command] = field(default_factory=list[Command])
    spans: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    heads: set[int] = field(default_factory=set[int])
    keywords: set[int] = field(default_factory=set[int])
    tests: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    loops: dict[str, tuple[Word, ...]] = field(default_factory=dict[str, tuple[Word, ...]])

    def group(self, tokens: list[Token], moves: tuple[Move, ...]) -> None:
        """Take one level of tokens, and what is nested in it, as commands."""
        run, before = _Run(), ""
        fed: tuple[Word, ...] = ()
        loop = self._repeats(tokens)
        at = 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            if token.operator in _CONTROL:
                around = _Around(before=before, operator=token.operator, loop=loop)
                moves, fed = self._close(run, moves, fed, around)
                run, before = _Run(), token.operator
            elif not token.operator:
                if self._descriptor(token, tokens[at] if at < len(tokens) else None):
                    continue
                run.words.append(token)
            elif token.operator in ("<<", "<<-"):
                run.redirects.append((token, None))
            else:
                if at >= len(tokens) or tokens[at].operator:
                    raise LexError("a redirect has no target")
                run.redirects.append((token, tokens[at]))
                at += 1
        self._close(run, moves, fed, _Around(before=before, operator="", loop=loop))

    def _repeats(self, tokens: list[Token]) -> bool:
        """Whether what stands here may run more than once: a loop, or a function."""
        words = any(not token.operator and self._raw(token) in ("while", "until", "for") for token in tokens)
        return words or any(token.operator == "(" and after.operator == ")" for token, after in pairwise(tokens))

    def _raw(self, token: Token) -> str:
        return self.lexer.text[token.start : token.end]

    def _descriptor(self, token: Token, after: Token | None) -> bool:
        adjacent = after is not None and after.start == token.end and after.operator[:1] in ("<", ">")
        return adjacent and self._raw(token).isdigit()

    def _close(
        self, run: _Run, moves: tuple[Move, ...], fed: tuple[Word, ...], around: _Around
    ) -> tuple[tuple[Move, ...], tuple[Word, ...]]:
        """End a run; return the moves that hold after it and the words that feed the next one."""
        if not run:
            return moves, ()
        for token in (*run.words, *(part for pair in run.redirects for part in pair if part)):
            for inner in token.inner:
                self.group(inner, moves)
        faults: list[Fault] = []
        words = self._without_keywords(run.words, faults)
        if around.operator == "(" and words:
            # `name ()`: its body is judged as commands wherever it stands.
            return moves, ()
        self.spans.update((token.start, token.end) for token in words)
        command = replace(self._command(run, words, moves, faults), feeds=fed if around.piped else ())
        if command.words or command.assignments or command.redirects or command.faults:
            self.commands.append(command)
        plain = len(words) == len(run.words) and not around.piped and around.before != "||"
        moves = (*moves, *_moves(command, certain=plain and around.operator == "&&", loop=around.loop))
        if around.operator not in ("&&", "|", "|&") or around.loop:
            moves = tuple(replace(move, certain=False) for move in moves)
        # So many changes of directory lead anywhere.
        return (moves if len(moves) <= _MAX_MOVES else (Move(to=None, certain=False),)), command.words

    def _without_keywords(self, words: list[Token], faults: list[Fault]) -> list[Token]:
        while words:
            raw = self._raw(words[0])
            if raw in _REFUSED:
                faults.append(Fault(reason=_REFUSED[raw], hidden=False))
                self.keywords.add(words[0].start)
                words = words[1:]
            elif raw in _OPENERS:
                self.keywords.add(words[0].start)
                words = words[1:]
                if raw == "time" and words and self._raw(words[0]) in ("-p", "--"):
                    self.spans.add((words[0].start, words[0].end))
                    words = words[1:]
            elif raw in _CLOSERS:
                if len(words) > 1:
                    faults.append(Fault(reason=f"words after {raw!r}"))
                self.keywords.add(words[0].start)
                words = words[1:]
            elif raw == "for":
                return self._for(words, faults)
            elif raw == "case":
                self.keywords.update((words[0].start, words[-1].start))
                self.spans.update((token.start, token.end) for token in words[1:-1])
                return []
            elif words[0].pattern:
                self.spans.update((token.start, token.end) for token in words)
                return []
            else:
                break
        return words

    def _for(self, words: list[Token], faults: list[Fault]) -> list[Token]:
        self.keywords.add(words[0].start)
        name = self._raw(words[1]) if len(words) > 1 else ""
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", name) or (len(words) > 2 and self._raw(words[2]) != "in"):
            faults.append(Fault(reason="a loop over an unusual variable"))
        self.spans.update((token.start, token.end) for token in (words[1:2] + words[3:]))
        values = [to_word(self._raw(token), pieces) for token in words[3:] for pieces in expand(token.pieces) if pieces]
        plain = all(value.text and not value.text.startswith("-") for value in values)
        self.loops[name] = tuple(values) if values and plain and name not in self.loops else ()
        return []

    def _command(self, run: _Run, tokens: list[Token], moves: tuple[Move, ...], faults: list[Fault]) -> Command:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        if tokens:
            self.heads.add(tokens[0].start)
        for token in tokens:
            raw = self._raw(token)
            found = _ASSIGNMENT.match(raw) if not words else None
            if found and found[2] == "[":
                faults.append(Fault(reason="an assignment to an array element"))
            if found and found[2] != "[":
                value = to_word(raw[found.end() :], list(_after(token, found.end())))
                assignments.append((found[1], value))
                continue
            # A word that braces leave empty is dropped, as the shell does; a quoted one stays.
            words += [self._looped(to_word(raw, pieces)) for pieces in expand(token.pieces) if pieces]
        if words and words[0].text in ("[[", "[") and words[0].text == words[0].raw:
            self._test(tokens, words, faults)
        starts = [token.start for token in tokens] + [op.start for op, _ in run.redirects]
        ends = [token.end for token in tokens] + [(word or op).end for op, word in run.redirects]
        text = readable(self.lexer.text[min(starts, default=0) : max(ends, default=0)]).replace("\\\n", "")
        redirects = tuple(self._redirect(op, word, faults) for op, word in run.redirects)
        return Command(
            text=text,
            words=tuple(words),
            assignments=tuple(assignments),
            redirects=tuple(item for item in redirects if item),
            moves=moves,
            faults=tuple(faults),
        )

    def _looped(self, word: Word) -> Word:
        choices = self.loops.get(word.variable, ()) if word.variable else ()
        return replace(word, choices=choices) if choices else word

    def _test(self, tokens: list[Token], words: list[Word], faults: list[Fault]) -> None:
        """`[[ … ]]` evaluates what stands beside `-eq`, `-v` and their like; the rest is only compared."""
        self.tests.append((tokens[0].start, tokens[-1].end))
        closing = "]]" if words[0].text == "[[" else "]"
        if words[-1].raw != closing:
            faults.append(Fault(reason=f"{words[0].raw!r} without {closing!r}"))
        if words[0].text == "[[" and any(
            word.text is None or word.raw in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R") for word in words
        ):
            faults.append(Fault(reason="a test that evaluates its operands"))

    def _redirect(self, operator: Token, target: Token | None, faults: list[Fault]) -> Redirect | None:
        if target is None:
            return Redirect(kind=RedirectKind.TEXT, target=operator.body or literal(""))
        self.spans.add((target.start, target.end))
        expanded = expand(target.pieces)
        if len(expanded) != 1:
            faults.append(Fault(reason="a redirect to several words"))
        word = to_word(self._raw(target), target.pieces)
        if operator.operator == "<<<":
            return Redirect(kind=RedirectKind.TEXT, target=word)
        if operator.operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", word.raw):
            return None
        if target.inner and word.raw[:2] in ("<(", ">("):
            return None  # a process substitution; its commands are judged as all others
        if operator.operator in ("<>", "<&"):
            faults.append(Fault(reason=f"the redirect {operator.operator!r}"))
        kind = RedirectKind.READ if operator.operator == "<" else RedirectKind.WRITE
        return Redirect(kind=kind, target=word)


def _sets(command: Command, loops: Mapping[str, tuple[Word, ...]]) -> bool:
    """Whether a command may set one of these variables behind the loop's back."""
    if not loops:
        return False
    setter = bool(command.words) and command.words[0].text in _SETTERS
    return setter or any(name in loops for name, _ in command.assignments)


def _moves(command: Command, *, certain: bool, loop: bool) -> tuple[Move, ...]:
    """How a command changes the directory of those after it."""
    name = command.words[0].text if command.words else ""
    if name in ("pushd", "popd", "eval", "source", ".", "command", "builtin", None):
        return (Move(to=None, certain=False),) if name != "command" or _mentions_cd(command) else ()
    if name != "cd":
        return ()
    rest = [word for word in command.words[1:] if word.text not in ("-L", "-P", "--")]
    if not rest:
        return (Move(to=Word(raw="~", text="~", prefix="~", tilde=True), certain=certain),)
    to = rest[0]
    clear = len(rest) == 1 and not command.assignments and to.known and to.text and not to.prefix.startswith("-")
    if not clear or (loop and not to.prefix.startswith("/")):
        return (Move(to=None, certain=certain and not loop),)
    return (Move(to=to, certain=certain),)


def _mentions_cd(command: Command) -> bool:
    return any(word.text in ("cd", "pushd", "popd", "eval", "source", ".", None) for word in command.words)


def _after(token: Token, count: int) -> Iterator[Piece]:
    """The pieces of a word behind its first `count` characters, which are literal and unquoted."""
    for piece in token.pieces:
        size = len(piece.text or "") if count else 0
        if count and piece.text is not None and not piece.quoted:
            if size > count:
                yield replace(piece, text=piece.text[count:])
            count = max(0, count - size)
        else:
            yield piece
