"""What a line of code or a path looks like, in most languages at once."""

from __future__ import annotations

import re

_DEFINES = (
    r"^\s*(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|final|abstract|async"
    r"|override|unsafe|extern|inline|virtual|declare|open|sealed|data)\s+)*"
    r"(?:def|class|function|fn|func|interface|struct|enum|trait|type|impl|module|object|record|protocol)\s+"
)

_DEFINITION = re.compile(_DEFINES + r"[*&(]?\s*(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_$][\w$]*)")
_ARROW = re.compile(
    r"^(?:export\s+)?(?:const|let|var)\s+(?P<name>[A-Za-z_$][\w$]*)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:\(|function\b)"
)
_C_LIKE = re.compile(r"^(?:[\w:<>*&,\[\]]+\s+)+[*&]?(?P<name>[A-Za-z_]\w*(?:::\w+)?)\s*\([^;]*\)?\s*(?:const\s*)?\{?$")
_CONSTANT = re.compile(
    r"^(?:export\s+)?(?:(?:const|let|var|val|static)\s+)?(?P<name>_?[A-Z][A-Z0-9_]{2,})\s*(?::[^=]+)?=\s*\S"
)
_IMPORT = re.compile(r"^\s*(?:import|from|use|using|require|#include|package|export \{|export \*)\b")
_COMMENT = re.compile(r"^\s*(?:#|//|/\*|\*|--|;|<!--)")
_DOCSTRING = re.compile(r"^\s*[rf]?(?:\"\"\"|''')")
_LITERAL = re.compile(r"^\s*[rbf(]{0,2}[\"'](?![\"']{2})")
_NO_NAMES = {
    "if",
    "for",
    "while",
    "switch",
    "return",
    "catch",
    "else",
    "with",
    "new",
    "await",
    "yield",
    "match",
    "assert",
}

_DOCUMENT = re.compile(r"\.(?:md|mdx|rst|txt|adoc|org|html|csv)$|(?:^|/)(?:CHANGELOG|LICENSE|README)", re.IGNORECASE)
_DATA = re.compile(
    r"\.(?:json|jsonl|ya?ml|toml|lock|xml|svg|ini|cfg|snap|css|sum|map|http|sse|po)$|\.min\.", re.IGNORECASE
)
_TEST = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testdata|testing|fixtures|examples?|bench(?:marks?)?)/|(?:^|/)test_"
    r"|[._-](?:test|spec)\.",
    re.IGNORECASE,
)
_FOREIGN = re.compile(r"(?:^|/)(?:node_modules|vendor|third_party|dist|build|\.venv|site-packages|generated|out)/")


def is_definition(text: str) -> bool:
    """Whether a line begins a function, a class or the like."""
    return bool(_named(text, _DEFINITION, _ARROW, _C_LIKE))


def defined_name(text: str) -> str:
    """Return the name that a line defines, constants included, or an empty string."""
    return _named(text, _DEFINITION, _ARROW, _CONSTANT, _C_LIKE)


def _named(text: str, *patterns: re.Pattern[str]) -> str:
    if len(text) > 400:
        return ""
    for pattern in patterns:
        if (found := pattern.match(text)) and found["name"] not in _NO_NAMES:
            head = text.split(None, 1)[0]
            return "" if head in _NO_NAMES else found["name"]
    return ""


def weight(text: str) -> float:
    """Return how much a line of this look says: a definition most, an import least."""
    if is_definition(text):
        return 1.8
    if defined_name(text):
        return 1.2
    if _IMPORT.match(text):
        return 0.2
    if _LITERAL.match(text):
        return 0.35
    if _COMMENT.match(text):
        return 0.6
    return 1.1 if _DOCSTRING.match(text) else 0.65


def kind_of(path: str) -> str:
    """`code`, `test`, `document`, `data` or `foreign`."""
    if _FOREIGN.search(path):
        return "foreign"
    if _DOCUMENT.search(path):
        return "document"
    if _DATA.search(path):
        return "data"
    return "test" if _TEST.search(path) else "code"


def indent(text: str) -> int:
    """Return how deep a line stands; a tab counts as four."""
    expanded = text.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def has_name(lowered: str, name: str) -> bool:
    """Whether a line in lower case has `name` as a whole word."""
    return re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", lowered) is not None
