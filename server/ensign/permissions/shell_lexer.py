"""A second, independent reading of a shell line: into words and operators, by the quoting rules of the manual.

The grammar (`shell_reader.py`) says what is nested in what; this says where words begin and end and what they are
after quote removal. A line on which the two disagree is not trusted. Works on text whose characters are the bytes of
the line, so that offsets are those of the grammar.

Source: POSIX.1-2017 XCU 2.2 and 2.3, bash(1) "EXPANSION".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ensign.permissions.shell_case import Cases
from ensign.permissions.shell_tokens import LexError, Piece, Token, to_word
from ensign.permissions.shell_words import Fault

OPERATORS = (
    *("&>>", "<<<", "<<-", ";;&", "&&", "||", ";;", ";&", "|&", "&>", "<<", ">>", "<&", ">&", "<>", ">|"),
    *(";", "&", "|", "<", ">", "(", ")", "\n"),
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"#?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*?$!#-])(?=\}|:?[-=?+]|##?|%%?|//?|\^\^?|,,?)")
_NUMBER_ONLY = re.compile(r"[0-9+\-*/% ()]*")
_CODE = re.compile(r"x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_MAX_WORDS = 1000
"""Beyond it a judgement would take longer than a person notices; the line asks instead."""
_CONTINUED = "\\\n"
_BLANKS = " \t"
_OPERATOR_STARTS = frozenset(";&|<>()\n")
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,+@%^-]+")
_DELIMITER = re.compile(r"""[ \t]*(['"]?)([A-Za-z_][A-Za-z0-9_.-]*)\1(?=[\s;&|<>)]|$)""")


@dataclass(slots=True)
class _Heredoc:
    token: Token
    delimiter: str
    quoted: bool
    strip: bool


@dataclass(slots=True)
class Lexer:
    """Reads one line. `variables` are the values that are known before it runs."""

    text: str
    variables: Mapping[str, str]
    faults: list[Fault] = field(default_factory=list[Fault])
    _inner: list[list[Token]] = field(default_factory=list[list[Token]])
    _depth: int = 0
    _backquoted: bool = False
    _words: int = 0

    def run(self) -> list[Token]:
        """Return the tokens of the line.

        Raises:
            LexError: a quote, substitution or here-document is not closed.
        """
        tokens, end = self._sequence(0, "")
        if end != len(self.text):
            raise LexError("a parenthesis has no partner")
        return tokens

    def _fault(self, reason: str) -> None:
        self.faults.append(Fault(reason=reason))

    def _sequence(self, at: int, closer: str) -> tuple[list[Token], int]:
        """Read tokens up to the `closer` of this level and return them with where it stands."""
        if self._depth > 12:
            raise LexError("substitutions are nested too deeply")
        text, tokens, waiting, level = self.text, list[Token](), list[_Heredoc](), 0
        cases = Cases(text)
        while at < len(text):
            char = text[at]
            if blank := self._blank(at):
                at += blank
            elif char == "#":
                at = self._line_end(at)
            elif cases.in_pattern and char in "(|)":
                at = cases.mark(char, at, tokens)
            elif closer and char == closer and level == 0:
                if waiting:
                    raise LexError("a here-document is not closed")
                return tokens, at
            elif (operator := self._operator(at)) and not (operator in "<>" and text[at + 1 : at + 2] == "("):
                level += (operator == "(") - (operator == ")")
                if level < 0:
                    return tokens, at
                cases.operator(operator)
                token = Token(start=at, end=at + len(operator), operator=operator)
                tokens.append(token)
                at = self._after_operator(token, waiting)
            else:
                at = self._token(at, tokens)
                cases.word(tokens)
        if waiting or closer or cases.open:
            raise LexError("something is not closed")
        return tokens, at

    def _blank(self, at: int) -> int:
        """How many characters of a blank, or of a line's continuation, stand here."""
        return 1 if self.text[at] in _BLANKS else 2 if self.text.startswith(_CONTINUED, at) else 0

    def _line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def _operator(self, at: int) -> str:
        if self.text[at] not in _OPERATOR_STARTS:
            return ""
        return next(op for op in OPERATORS if self.text.startswith(op, at))

    def _after_operator(self, token: Token, waiting: list[_Heredoc]) -> int:
        if token.operator in ("<<", "<<-"):
            return self._heredoc_start(token, waiting)
        at = token.end
        if token.operator == "\n":
            while waiting:
                at = self._heredoc_body(at, waiting.pop(0))
        return at

    def _token(self, start: int, tokens: list[Token]) -> int:
        self._words += 1
        if self._words > _MAX_WORDS:
            raise LexError("it is too long to be judged")
        outer, self._inner = self._inner, []
        pieces, at = self._word(start)
        if at == start:
            raise LexError("a character stands where none can")
        while self.text.endswith(_CONTINUED, start, at):
            at -= len(_CONTINUED)
        tokens.append(Token(start=start, end=at, pieces=pieces, inner=self._inner))
        self._inner = outer
        return at

    def _heredoc_start(self, token: Token, waiting: list[_Heredoc]) -> int:
        found = _DELIMITER.match(self.text, token.end)
        if not found:
            raise LexError("a here-document's delimiter is not a plain word")
        waiting.append(_Heredoc(token, found[2], bool(found[1]), token.operator == "<<-"))
        return found.end()

    def _heredoc_body(self, at: int, doc: _Heredoc) -> int:
        start, continued = at, False
        while True:
            end = self._line_end(at)
            line = self.text[at:end]
            if (line.lstrip("\t") if doc.strip else line) == doc.delimiter and not continued:
                break
            continued = not doc.quoted and (len(line) - len(line.rstrip("\\"))) % 2 == 1
            if end == len(self.text):
                raise LexError("a here-document is not closed")
            at = end + 1
        body = self.text[start:at]
        outer, self._inner = self._inner, doc.token.inner
        pieces = [Piece(body, quoted=True)] if doc.quoted else self._expanding(start, at)
        self._inner = outer
        doc.token.body = to_word(body, pieces)
        return end

    def _expanding(self, at: int, end: int) -> list[Piece]:
        """Pieces of a here-document's body, which expands as double quotes do."""
        pieces: list[Piece] = []
        while at < end:
            at = self._in_double_quotes(at, pieces, stop="")
        if at > end:
            raise LexError("an expansion runs past its here-document")
        return pieces

    def _word(self, at: int) -> tuple[list[Piece], int]:
        pieces: list[Piece] = []
        text = self.text
        while at < len(text):
            char = text[at]
            if char in _BLANKS or char in "\n;&|()" or (char == "`" and self._backquoted):
                break
            if char in "<>":
                if pieces or text[at + 1 : at + 2] != "(":
                    break
                at = self._substitution(at + 2, ")", pieces, quoted=False)
            elif char == "'":
                end = self._close(at + 1, "'")
                pieces.append(Piece(text[at + 1 : end], quoted=True))
                at = end + 1
            elif char == '"':
                at = self._double_quotes(at + 1, pieces)
            elif text.startswith(_CONTINUED, at):
                at += 2
            elif char == "\\":
                if at + 1 >= len(text):
                    raise LexError("nothing follows a backslash")
                pieces.append(Piece(text[at + 1], quoted=True))
                at += 2
            elif char == "$":
                at = self._dollar(at, pieces, quoted=False)
            elif char == "`":
                at = self._backquotes(at, pieces, quoted=False)
            else:
                plain = _PLAIN.match(text, at)
                pieces.append(Piece(plain[0] if plain else char, quoted=False))
                at = plain.end() if plain else at + 1
        return pieces, at

    def _close(self, at: int, closer: str) -> int:
        end = self.text.find(closer, at)
        if end < 0:
            raise LexError("a quote is not closed")
        return end

    def _double_quotes(self, at: int, pieces: list[Piece]) -> int:
        pieces.append(Piece("", quoted=True))
        while at < len(self.text):
            if self.text[at] == '"':
                return at + 1
            at = self._in_double_quotes(at, pieces, stop='"')
        raise LexError("a quote is not closed")

    def _in_double_quotes(self, at: int, pieces: list[Piece], *, stop: str) -> int:
        """Read one piece; `stop` are the characters that end a plain stretch beside `$`, backquote and backslash."""
        char = self.text[at]
        if self.text.startswith(_CONTINUED, at):
            return at + 2
        if char == "$":
            return self._dollar(at, pieces, quoted=True)
        if char == "`":
            return self._backquotes(at, pieces, quoted=True)
        if char == "\\" and self.text[at + 1 : at + 2] in ("$", "`", '"', "\\"):
            at += 1
        end = at + 1
        while char != "\n" and end < len(self.text) and self.text[end] not in "$`\\\n" and self.text[end] not in stop:
            end += 1
        pieces.append(Piece(self.text[at:end], quoted=True))
        return end

    def _dollar(self, at: int, pieces: list[Piece], *, quoted: bool) -> int:
        text, rest = self.text, self.text[at + 1 : at + 2]
        if text.startswith("$((", at) or rest == "[":
            return self._arithmetic(at, pieces, quoted=quoted)
        if rest == "(":
            return self._substitution(at + 2, ")", pieces, quoted=quoted)
        if rest == "{":
            return self._parameter(at + 2, pieces, quoted=quoted)
        if rest == "'" and not quoted:
            return self._ansi_c(at + 2, pieces)
        if rest == '"' and not quoted:
            self._fault('translated text `$"…"`')
            return self._double_quotes(at + 2, pieces)
        if name := _NAME.match(text, at + 1):
            value = self.variables.get(name[0])
            pieces.append(Piece(value, quoted=quoted, variable="" if value else name[0]))
            return name.end()
        if rest and rest in "?#$!@*-0123456789":
            pieces.append(Piece(None, quoted=(quoted and rest != "@") or rest in "?#$"))
            return at + 2
        pieces.append(Piece("$", quoted=quoted))
        return at + 1

    def _arithmetic(self, at: int, pieces: list[Piece], *, quoted: bool) -> int:
        opener, closer = ("$((", "))") if self.text.startswith("$((", at) else ("$[", "]")
        body = end = at + len(opener)
        level, inner = 0, list[Piece]()
        while end < len(self.text) and (level or not self.text.startswith(closer, end)):
            level += (self.text[end] == "(") - (self.text[end] == ")")
            end = self._in_double_quotes(end, inner, stop="()]")
        if end >= len(self.text):
            raise LexError("an arithmetic expansion is not closed")
        if not _NUMBER_ONLY.fullmatch(self.text, body, end):
            self._fault("arithmetic with names, whose values the shell evaluates")
        pieces.append(Piece(None, quoted=quoted))
        return end + len(closer)

    def _substitution(self, body: int, closer: str, pieces: list[Piece], *, quoted: bool) -> int:
        outer = self._inner
        self._depth += 1
        self._inner = []
        tokens, end = self._sequence(body, closer)
        if self.text[end] != closer:
            raise LexError("a parenthesis has no partner")
        self._depth -= 1
        self._inner = outer
        self._inner.append(tokens)
        pieces.append(Piece(None, quoted=quoted))
        return end + 1

    def _backquotes(self, at: int, pieces: list[Piece], *, quoted: bool) -> int:
        if "\\" in self.text[at : self._close(at + 1, "`")]:
            raise LexError("backslashes between backquotes")
        if self._backquoted:
            raise LexError("backquotes within backquotes")
        self._backquoted = True
        end = self._substitution(at + 1, "`", pieces, quoted=quoted)
        self._backquoted = False
        return end

    def _parameter(self, at: int, pieces: list[Piece], *, quoted: bool) -> int:
        """`${name…}`; the text after an operator may hold substitutions, which are read as everywhere."""
        text = self.text
        name = _PARAMETER.match(text, at)
        if not name:
            self._fault("an expansion that evaluates a subscript, an offset or another variable")
        plain = name is not None and text[name.end() : name.end() + 1] == "}"
        at = name.end() if name else at
        if plain and name and name[0] in self.variables:
            pieces.append(Piece(self.variables[name[0]], quoted=quoted))
            return at + 1
        inner: list[Piece] = []
        while at < len(text):
            char = text[at]
            if char == "}":
                pieces.append(Piece(None, quoted=quoted))
                return at + 1
            if char == "'" and not quoted:
                at = self._close(at + 1, "'") + 1
            elif char == '"':
                at = self._double_quotes(at + 1, inner)
            elif char in "<>" and text[at + 1 : at + 2] == "(" and not quoted:
                at = self._substitution(at + 2, ")", inner, quoted=False)
            elif char == "\\":
                at += 2
            else:
                at = self._in_double_quotes(at, inner, stop="}'\"<>")
        raise LexError("an expansion is not closed")

    def _ansi_c(self, at: int, pieces: list[Piece]) -> int:
        out: list[str] = []
        text = self.text
        while at < len(text):
            if text[at] == "'":
                pieces.append(Piece("".join(out), quoted=True))
                return at + 1
            if text[at] != "\\":
                out.append(text[at])
                at += 1
                continue
            at = self._escape(at + 1, out)
        raise LexError("a quote is not closed")

    def _escape(self, at: int, out: list[str]) -> int:
        text = self.text
        code = _CODE.match(text, at)
        if code:
            value = int(code[4], 8) & 0xFF if code[4] else int(code[1] or code[2] or code[3], 16)
            if value == 0 or value > 0x10FFFF:
                raise LexError("a NUL or impossible character")
            as_byte = bool(code[1] or code[4])
            out.append(chr(value) if as_byte else chr(value).encode("utf-8", "surrogatepass").decode("latin-1"))
            return code.end()
        if text[at : at + 1] == "c":
            out.append(chr(ord(text[at + 1]) & 0x1F) if at + 1 < len(text) else "")
            return at + 2
        char = text[at : at + 1]
        out.append(_ESCAPES.get(char) or (char if char in "\\'\"?" else "\\" + char))
        return at + 1
