"""The characters of a page: what kind of text it is, and in which encoding. Blocks; for a thread."""

from __future__ import annotations

import codecs
import json
import re

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(
    r"text/.*|application/(.*\+)?(json|xml|yaml|toml)|application/(x-)?(javascript|ecmascript|sh|ndjson|yaml|sql|tex)"
    r"|application/(typescript|graphql|jsonlines|x-ndjson)|image/svg\+xml"
)
_LOOKS_HTML = re.compile(rb"\s*(<!--.*?-->\s*)*<(!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_META = re.compile(rb"""<meta\b[^>]{0,200}\bcharset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CHARSETS = re.compile(
    r"utf-?8|utf-?16(-?[lb]e)?|windows-125[0-8]|cp125[0-8]|iso-?8859-\d+|gbk|gb18030|big5(-hkscs)?|shift[_-]jis"
    r"|euc-(jp|kr)|iso-2022-jp|koi8-[ru]|macintosh|windows-874"
)
"""What the web's standard knows; Python knows more, some of it no encoding of characters."""
_MEANT = {
    "iso-8859-1": "windows-1252",
    "latin1": "windows-1252",
    "us-ascii": "windows-1252",
    "ascii": "windows-1252",
    "gb2312": "gb18030",
    "x-sjis": "shift_jis",
    "sjis": "shift_jis",
    "x-gbk": "gbk",
    "macintosh": "mac-roman",
    "windows-874": "cp874",
}
"""Labels that mean another encoding on the web (WHATWG Encoding)."""
_SNIFFED = 2048


@frozen(kw_only=False)
class Body:
    """The characters of a page; `html` when they are still to be made Markdown."""

    text: str
    html: bool


def read_body(body: bytes, content_type: str, url: str) -> Body:
    """Decode what an address answered with.

    Raises:
        ToolError: it is not text.
    """
    kind, _, parameters = content_type.partition(";")
    kind = kind.strip().lower()
    if not kind or kind == "application/octet-stream":
        kind = "text/html" if _LOOKS_HTML.match(body[:_SNIFFED]) else "text/plain"
    html = kind in _HTML
    if not html and not _TEXT.fullmatch(kind):
        raise ToolError(f"{url!r} is {kind[:80]!r}, which is not text ({len(body):,} bytes)")
    text = characters(body, parameters, html=html)
    if html:
        return Body(text, html=True)
    if "\0" in text:
        raise ToolError(f"{url!r} is not text, though it says {kind!r} ({len(body):,} bytes)")
    if kind.endswith("json"):
        text = _readable_json(text)
    return Body(text.replace("\r\n", "\n").strip("\n"), html=False)


def characters(body: bytes, parameters: str, *, html: bool) -> str:
    """Decode a body: by its byte order mark, its header, its `<meta>`, as UTF-8 if it is that, else as Windows-1252."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    labels = [_parameter(parameters)]
    if html and (found := _META.search(body[:_SNIFFED])):
        labels.append(found[1].decode("ascii", "replace"))
    for label in labels:
        name = _MEANT.get(label.lower(), label.lower())
        if _CHARSETS.fullmatch(name) or name in _MEANT.values():
            try:
                return body.decode(name, "replace")
            except LookupError:
                continue
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        # A last character that the size limit cut in two is no reason to doubt the rest.
        return body.decode("utf-8" if error.reason == "unexpected end of data" else "windows-1252", "replace")


def _parameter(parameters: str) -> str:
    found = re.search(r"charset\s*=\s*[\"']?([^\s\"';]+)", parameters, re.IGNORECASE)
    return found[1] if found else ""


def _readable_json(text: str) -> str:
    """Indent what came in one long line: Read and Grep go by lines."""
    if "\n" in text.strip() or len(text) < 200:
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text
