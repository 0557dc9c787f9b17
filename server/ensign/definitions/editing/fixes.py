"""Changes that mend common faults of an agent file; each is made from the text and one note of the reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ensign.definitions.editing.around import Around
from ensign.definitions.editing.complete import RULE_LISTS
from ensign.definitions.editing.cursor import Front, Line, front_of, lines_of, spot_at
from ensign.definitions.editing.words import field_of
from ensign.definitions.fields import FIELDS, TOOL_HINTS
from ensign.definitions.values import is_name
from ensign.definitions.vocabulary import closest
from ensign.protocol.editing import Fault, FileSpan, Fix, Replacement, Span

_NEEDS_QUOTES = re.compile(r"(?P<before>[ \t]*(?:-[ \t]+)?[A-Za-z_][\w-]*[ \t]*:[ \t]+)(?P<value>[^'\"|>\[{].*?)[ \t]*")
_Change = tuple[str, Span, str]  # title, what is replaced, by what


def fixes(text: str, faults: tuple[Fault, ...], path: Path, around: Around) -> Iterator[Fix]:
    """Yield the fixes of these faults, in their order."""
    front = front_of(text)
    if front is None:
        return
    for fault in faults:
        maker = _MAKERS.get(fault.code)
        for title, span, new in maker(text, front, fault, path, around) if maker else ():
            change = Replacement(place=FileSpan(path=path, text=text, span=span), new=new)
            yield Fix(title=title, code=fault.code, span=fault.span, changes=(change,))


_Maker = Callable[[str, Front, Fault, Path, Around], Iterator[_Change]]


def _unknown_field(text: str, front: Front, fault: Fault, path: Path, around: Around) -> Iterator[_Change]:
    word = text[fault.span.start : fault.span.end]
    spot = spot_at(text, fault.span.start)
    inside = bool(spot and spot.keys)
    known = [name for name, _ in RULE_LISTS] if inside else [field.name for field in FIELDS]
    near = closest(word, known)
    if near is not None and (inside or front.key_line(near) is None):
        yield f"Change to {near!r}", fault.span, near
    line = _line_of(text, fault.span.start)
    if not inside and not _has_more(text, line):
        yield f"Remove {word!r}", Span(line.start, _next_line(text, line)), ""


def _unknown_tool(text: str, front: Front, fault: Fault, path: Path, around: Around) -> Iterator[_Change]:
    word = text[fault.span.start : fault.span.end]
    near = TOOL_HINTS.get(word) or closest(word.partition("(")[0], around.words.tools)
    if near is not None:
        yield f"Change to {near!r}", fault.span, near


def _bad_value(text: str, front: Front, fault: Fault, path: Path, around: Around) -> Iterator[_Change]:
    spot = spot_at(text, fault.span.start)
    field = field_of(spot.keys) if spot else None
    word = text[fault.span.start : fault.span.end].strip("'\"")
    if field is None:
        return
    near = dict(field.renamed).get(word) or closest(word, field.values)
    for value in [near] if near else field.values:
        yield f"Change to {value!r}", fault.span, value


def _unknown_model(text: str, front: Front, fault: Fault, path: Path, around: Around) -> Iterator[_Change]:
    word = text[fault.span.start : fault.span.end].strip("'\"")
    near = closest(word, [*around.references, *(model.id for model in around.models)])
    for value in dict.fromkeys(value for value in (near, "inherit") if value):
        yield f"Change to {value!r}", fault.span, value


def _missing_field(text: str, front: Front, fault: Fault, path: Path, around: Around) -> Iterator[_Change]:
    name = fault.code.removeprefix("no-")
    if name == "name":
        value = _name_like(path.stem)
        if value and front.key_line("name") is None:
            yield f"Add name: {value}", _after(front.opening), _new_line(text) + f"name: {value}"
        return
    value = "When to use this agent, in one sentence"
    if (found := front.key_line("description")) is not None:
        yield "Write a description", Span(found[0].end, found[0].end), f" {value}"
        return
    line = found[0] if (found := front.key_line("name")) else front.opening
    yield "Add a description", _after(line), _new_line(text) + f"description: {value}"


def _bad_name(text: str, front: Front, fault: Fault, path: Path, around: Around) -> Iterator[_Change]:
    found = front.key_line("name")
    if found is None:
        return
    line, key = found
    begin = text.index(":", key.end) + 1
    written = text[begin : line.end].strip().strip("'\"")
    if name := _name_like(written):
        yield f"Change to {name!r}", Span(begin, line.end), f" {name}"


def _not_closed(text: str, front: Front, fault: Fault, path: Path, around: Around) -> Iterator[_Change]:
    yield "Add the closing line ---", Span(front.end, front.end), f"{_new_line(text)}---"


def _yaml(text: str, front: Front, fault: Fault, path: Path, around: Around) -> Iterator[_Change]:
    tabbed = [line for line in front.lines if "\t" in line.text[: len(line.text) - len(line.text.lstrip())]]
    if tabbed:
        span = Span(tabbed[0].start, tabbed[-1].end)
        yield "Indent with spaces instead of tabs", span, _untabbed(text[span.start : span.end])
        return
    line = _line_of(text, fault.span.start)
    found = _NEEDS_QUOTES.fullmatch(line.text)
    if found is not None and ("': '" in fault.message or "quotes" in fault.message):
        span = Span(line.start + found.start("value"), line.start + found.end("value"))
        yield "Put the value in quotes", span, "'" + found["value"].replace("'", "''") + "'"


def _wrong_type(text: str, front: Front, fault: Fault, path: Path, around: Around) -> Iterator[_Change]:
    word = text[fault.span.start : fault.span.end]
    if "inside quotes" in fault.message and word[:1] == word[-1:] and len(word) > 1:
        yield "Take the quotes away", fault.span, word[1:-1]


def _untabbed(text: str) -> str:
    return re.sub(r"^[ \t]+", lambda match: match[0].replace("\t", "  "), text, flags=re.MULTILINE)


def _name_like(text: str) -> str:
    """A name as near to a text as names allow, or nothing."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", text.strip()).strip("-_").lstrip("0123456789-_")[:32].rstrip("-_")
    return name if is_name(name) else ""


def _line_of(text: str, offset: int) -> Line:
    return next(line for line in lines_of(text) if line.start <= offset <= line.end)


def _next_line(text: str, line: Line) -> int:
    return next((other.start for other in lines_of(text) if other.start > line.start), line.end)


def _has_more(text: str, line: Line) -> bool:
    """Whether the value of the field on this line goes on below it."""
    following = next((other for other in lines_of(text) if other.start > line.start), None)
    return following is not None and following.text.startswith((" ", "\t", "- "))


def _after(line: Line) -> Span:
    return Span(line.end, line.end)


def _new_line(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


_MAKERS: dict[str, _Maker] = {
    "unknown-field": _unknown_field,
    "unknown-tool": _unknown_tool,
    "bad-value": _bad_value,
    "unknown-model": _unknown_model,
    "no-name": _missing_field,
    "no-description": _missing_field,
    "bad-name": _bad_name,
    "not-closed": _not_closed,
    "yaml-syntax": _yaml,
    "wrong-type": _wrong_type,
}
