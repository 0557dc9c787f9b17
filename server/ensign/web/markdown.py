"""HTML as Markdown that a model reads: without scripts, and without what people would not see.

The parser is lexbor's, by selectolax: HTML as browsers read it, however broken. The walk over its tree keeps its own
stack, so that no depth of nesting ends it.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

from ensign.web.writer import MarkdownWriter

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_DROPPED = frozenset(
    (
        *("head", "script", "style", "template", "svg", "canvas", "iframe", "object", "embed", "audio", "video"),
        *("noembed", "noframes", "select", "datalist", "dialog"),
    )
)
_CHROME = frozenset(("nav", "footer"))
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|(font-size|opacity)\s*:\s*0(?![.\d])", re.IGNORECASE)
_ENOUGH_CHARS = 200
_CPU_SECONDS = 60
_MEMORY_BYTES = 2 << 30


def main(url: str) -> None:
    """Be the process that `extract.py` starts: HTML in, a JSON list of title and Markdown out."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.stdout.write(json.dumps(to_markdown(html, url)))


def to_markdown(html: str, url: str) -> tuple[str, str]:
    """Return title and Markdown of a page; `url` makes its links absolute."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    title = tree.css_first("title")
    writer = MarkdownWriter(url)
    main = _main_part(tree.css("main, [role=main]")) or _main_part(tree.css("article"))
    if main is not None:
        _walk(main, writer, _DROPPED)
    elif tree.body is not None:
        _walk(tree.body, writer, _DROPPED | _CHROME)
    return " ".join(title.text().split()) if title is not None else "", writer.finish()


def _main_part(found: list[LexborNode]) -> LexborNode | None:
    """The one part that a page marks as its content, if there is something in it."""
    return found[0] if len(found) == 1 and len(found[0].text()) >= _ENOUGH_CHARS else None


def _walk(root: LexborNode, writer: MarkdownWriter, dropped: frozenset[str]) -> None:
    stack: list[tuple[LexborNode, bool]] = [(root, True)]
    while stack:
        node, entering = stack.pop()
        name = node.tag or ""
        if not entering:
            writer.leave(name)
        elif name == "-text":
            writer.text(node.text_content or "")
        elif not name.startswith(("-", "!", "_")) and name not in dropped and not _is_hidden(node):
            attributes = node.attributes
            writer.enter(name, attributes)
            stack.append((node, False))
            child = node.last_child
            while child is not None:
                stack.append((child, True))
                child = child.prev


def _is_hidden(node: LexborNode) -> bool:
    """What people do not see is where instructions to models are put."""
    attributes = node.attributes
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    return bool(_HIDDEN.search(attributes.get("style") or ""))
