"""The text of a page: its characters in whatever encoding, HTML as Markdown, nothing that people would not see."""

import asyncio
import os
from pathlib import Path

import pytest

from ensign.protocol.errors import ToolError
from ensign.web.extract import markdown_of
from ensign.web.markdown import to_markdown
from ensign.web.page import Body, read_body
from ensign.web.passages import select

URL = "https://a.example/docs/page"


def markdown(html: str) -> str:
    return to_markdown(html, URL)[1]


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("gr\u00fcn \u4e2d".encode(), "text/plain", "gr\u00fcn \u4e2d"),
        ("gr\u00fcn".encode("latin-1"), "text/plain", "gr\u00fcn"),
        ("\u201cq\u201d".encode("cp1252"), "text/plain; charset=ISO-8859-1", "\u201cq\u201d"),
        ("\u4e2d\u6587".encode("gb18030"), 'text/plain;charset="gb2312"', "\u4e2d\u6587"),
        ("\u65e5\u672c".encode("shift_jis"), "text/plain; charset=x-sjis", "\u65e5\u672c"),
        ("a\u00e4".encode("utf-16"), "text/plain; charset=latin1", "a\u00e4"),
        (b"\xef\xbb\xbfa", "text/plain", "a"),
        ("gr\u00fcn".encode(), "text/plain; charset=rot13", "gr\u00fcn"),
        (b"+ADw-a+AD4-", "text/plain; charset=utf-7", "+ADw-a+AD4-"),
        (b"\\x3c", "text/plain; charset=unicode_escape", "\\x3c"),
        (b"a\r\nb\r\n", "text/markdown", "a\nb"),
        (b'{"a": [' + b"1, " * 80 + b'1], "b": "\xc3\xa4"}', "application/json", None),
        (b"not {json" * 40, "application/ld+json; x", "not {json" * 40),
        ("\u00e4".encode()[:1], "text/plain", "\ufffd"),
        (b"plain", "", "plain"),
    ],
)
def test_characters_are_read_as_a_browser_would(body: bytes, kind: str, text: str | None) -> None:
    read = read_body(body, kind, URL)
    if text is None:
        assert read.text.splitlines()[:3] == ["{", ' "a": [', "  1,"]
        assert read.text.splitlines()[-2:] == [' "b": "\u00e4"', "}"]
    else:
        assert read == Body(text, html=False)


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (b'<meta charset="koi8-r"><p>\xcd\xc9\xd2', "text/html", "\u043c\u0438\u0440"),
        (b"<meta http-equiv=x content='text/html; charset=windows-1251'>\xec", "text/html", "\u043c"),
        (b"\n<!-- a --><!DOCTYPE html><p>x", "", "x"),
        (b"<HTML>x", "application/octet-stream", "x"),
    ],
)
def test_html_is_known_by_its_kind_or_by_how_it_begins(body: bytes, kind: str, text: str) -> None:
    read = read_body(body, kind, URL)
    assert read.html
    assert markdown(read.text) == text


@pytest.mark.parametrize("kind", ["image/png", "application/pdf", "application/zip", "video/mp4", "x"])
def test_what_is_no_text_is_said_to_be_none(kind: str) -> None:
    with pytest.raises(ToolError, match="which is not text"):
        read_body(b"abc", kind, URL)
    with pytest.raises(ToolError, match="is not text, though it says 'text/plain'"):
        read_body(b"a\0b", "text/plain", URL)


def test_a_page_becomes_markdown() -> None:
    html = """<html><head><title> The
      title</title><style>p { x }</style></head><body><script>evil()</script>
    <h2 id=a>Head <a href="/a?b=1 2">link (x)</a></h2>
    <p>Some <b>bold</b> text &amp; <code>a_b</code> 1 &lt; 2  *<br>next <a href="#a">here</a>
     <img src=p alt="a  pic"></p>
    <ul><li>one<ol><li>a<li><p>b</p><p>c</p></ol><li>two <a href="javascript:x()">js</a><li></ul>
    <pre><code>def f():
\treturn 1
</code></pre>
    <table><thead><tr><th>a<th>b</tr></thead><tr><td>1<td><p>2</p><p>3|</p><tr><td colspan=2>x</table>
    <blockquote><p>q1</p><p>q2</p></blockquote><hr><table><tr><td>layout<tr><td>only</table>
    <a href="https://b.example/y(z)">out</a> end</body></html>"""
    assert to_markdown(html, URL) == (
        "The title",
        """\
## Head [link (x)](https://a.example/a?b=1%202)

Some bold text & `a_b` 1 < 2 *
next here [image: a pic]

- one
  1. a
  2. b
     c
- two js

```
def f():
    return 1
```

| a | b |
| --- | --- |
| 1 | 2 3\\| |
| x |  |

> q1
>
> q2
>
---

layout
only

[out](https://b.example/y%28z%29) end""",
    )


@pytest.mark.parametrize(
    "html",
    [
        "<p hidden>obey</p>",
        "<p aria-hidden=true>obey</p>",
        "<p style='color: red; DISPLAY : none'>obey</p>",
        "<span style='visibility:hidden'>obey</span>",
        "<span style='font-size:0px'>obey</span>",
        "<div style='opacity: 0'><p>obey</p></div>",
        "<!-- obey -->",
        "<script>obey</script><style>obey</style><template>obey</template><noframes>obey</noframes>",
        "<svg><text>obey</text></svg><iframe src=x>obey</iframe><select><option>obey</select>",
        "<nav>obey</nav><footer>obey</footer>",
        "<img src='https://evil.example/?obey'><a href='https://evil.example/?obey'></a>",
    ],
)
def test_what_people_do_not_see_is_not_read(html: str) -> None:
    assert markdown(f"<p>seen</p>{html}") == "seen"


def test_half_visible_text_is_read() -> None:
    assert markdown("<p style='opacity: 0.5; font-size: 0.8em'>seen</p>") == "seen"


def test_a_page_that_marks_its_content_is_read_from_there() -> None:
    content = "word " * 60
    html = f"<header>menu</header><main><nav>on this page</nav><p>{content}</p></main><div>adverts</div>"
    assert markdown(html) == f"on this page\n\n{content.strip()}"
    assert markdown("<div>all</div><main>short</main>") == "all\nshort"


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 3000 + "x",
        "<ul><li>" * 1500 + "x",
        "<blockquote>" * 1500 + "x",
        "<table><tr><td>" * 1500 + "x",
        "<b><i>" * 1500 + "x" + "<p>" * 1500,
        "<pre>" * 1500 + "x",
        "</p></div></td>" * 1000 + "x",
        "<a href=x>" * 1500 + "x",
        "<td>x</td><li>x</ul></table>",
        "x" + "\ud800",
    ],
)
def test_no_nesting_and_no_disorder_is_too_much(html: str) -> None:
    text = markdown(html.encode("utf-8", "replace").decode())
    assert "x" in text
    assert len(text) < 20_000


@pytest.mark.slow
async def test_html_is_parsed_in_a_process_that_can_be_stopped() -> None:
    """Lexbor needs minutes for this one, and would hold the interpreter all the while."""
    assert await markdown_of("<title>t</title><p>\u00e4", URL) == ("t", "\u00e4")
    hostile = "<a " + " ".join(f"b{number}" for number in range(100_000)) + ">"
    before = children()
    parsing = asyncio.create_task(markdown_of(hostile, URL))
    while not any(busy(child) for child in children() - before):
        await asyncio.sleep(0.005)
    parsing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await parsing
    assert children() == before


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def busy(pid: str) -> bool:
    """Whether a process has worked for longer than starting and reading takes: a fifth of a second."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[11]) > 20


def test_of_a_long_page_the_beginning_and_what_was_looked_for_is_shown() -> None:
    filler = "".join(f"Line {number} tells of nothing much, as lines do.\n" for number in range(4000))
    cut = filler.index("Line 2000 ")
    text = f"Title\n{filler[:cut]}The frobnicator takes three arguments.\n{filler[cut:]}"
    shown = select(text, 10_000, "How many arguments does the frobnicator take?")
    assert shown.startswith("Title\nLine 0")
    assert "\nThe frobnicator takes three arguments.\n" in shown
    assert len(shown) < 10_500
    left_out = [int(part.split(" ")[0].replace(",", "")) for part in shown.split("[... ")[1:]]
    kept = sum(len(line) + 1 for line in shown.splitlines() if line and not line.startswith("[... "))
    assert abs(sum(left_out) + kept - len(text)) < 10
    plain = select(text, 10_000, "")
    assert plain.startswith(text[:8000])
    assert plain.count("[... ") == 1
    assert plain.endswith("characters left out here ...]")
    assert select(text, 10_000, "zebra \u4e2d") == plain


def test_a_page_of_one_line_is_cut_too() -> None:
    assert len(select("x" * 100_000, 5000, "x")) < 5200
