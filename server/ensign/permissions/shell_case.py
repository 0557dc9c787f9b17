"""Where a lexer stands in `case WORD in PATTERN) … ;; esac`, whose parentheses have no partner."""

from __future__ import annotations

from dataclasses import dataclass, field

from ensign.permissions.shell_tokens import LexError, Token

_CONTROL = frozenset((";", "&", "&&", "||", "|", "|&", "\n", "(", ")"))
_NEXT_PATTERN = frozenset((";;", ";&", ";;&"))
_KEYWORDS = frozenset(("if", "then", "else", "elif", "while", "until", "do", "{", "!", "time"))


@dataclass(slots=True)
class Cases:
    """The open `case` statements of one level, innermost last, each by what comes next."""

    text: str
    _states: list[str] = field(default_factory=list[str])

    @property
    def open(self) -> bool:
        """Whether an `esac` is missing."""
        return bool(self._states)

    @property
    def in_pattern(self) -> bool:
        """Whether patterns stand here."""
        return bool(self._states) and self._states[-1] == "pattern"

    def mark(self, char: str, at: int, tokens: list[Token]) -> int:
        """Step over `(` and `|` around patterns; `)` ends them."""
        if char == ")":
            self._states[-1] = "body"
            tokens.append(Token(start=at, end=at + 1, operator=";"))
        return at + 1

    def operator(self, operator: str) -> None:
        """Take note of an operator.

        Raises:
            LexError: it ends a body that is not open.
        """
        if operator not in _NEXT_PATTERN:
            return
        if not self._states or self._states[-1] != "body":
            raise LexError(f"{operator!r} stands where it cannot")
        self._states[-1] = "pattern"

    def word(self, tokens: list[Token]) -> None:
        """Take note of the word that was just added to `tokens`.

        Raises:
            LexError: `in` is missing.
        """
        token = tokens[-1]
        raw = self.text[token.start : token.end]
        state = self._states[-1] if self._states else ""
        if state == "subject":
            self._states[-1] = "in"
        elif state == "in":
            if raw != "in":
                raise LexError("'case' without 'in'")
            self._states[-1] = "pattern"
            tokens.append(Token(start=token.end, end=token.end, operator=";"))
        elif state == "pattern":
            token.pattern = raw != "esac" or not self._first(tokens)
            if not token.pattern:
                self._states.pop()
        elif self._first(tokens):
            if raw == "case":
                self._states.append("subject")
            elif raw == "esac" and state == "body":
                self._states.pop()

    def _first(self, tokens: list[Token]) -> bool:
        """Whether the last token stands where a command begins."""
        for token in reversed(tokens[:-1]):
            if token.operator:
                return token.operator in _CONTROL or token.operator in _NEXT_PATTERN
            if self.text[token.start : token.end] not in _KEYWORDS:
                return False
        return True
