/** Markdown of models, made harmless: no HTML, no images, no links but to files and the web. */
import createDOMPurify, { type WindowLike } from "dompurify";
import hljs from "highlight.js/lib/core";
import MarkdownIt, { type MarkdownIt as Parser } from "markdown-it";
import { pathLinks } from "../../../links";
import { languages } from "./languages";

const HIGHLIGHTED_CHARS = 40_000;

const ALLOWED_TAGS =
  "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul div".split(
    " ",
  );
const ALLOWED_ATTR = ["class", "href", "title", "start", "dir", "data-path", "data-line", "data-end"];

export class Markdown {
  private readonly parser: Parser;
  private readonly purify: ReturnType<typeof createDOMPurify>;

  constructor(window: WindowLike) {
    this.purify = createDOMPurify(window);
    for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);
    this.parser = new MarkdownIt({ html: false, linkify: false, highlight });
    this.parser.validateLink = (url) => /^(?:https?:|mailto:)/i.test(url.trim());
    // A picture would tell its server that, and what, was read: its words are shown, nothing is fetched.
    this.parser.renderer.rules["image"] = (tokens, index) => {
      const token = tokens[index];
      const words = this.parser.utils.escapeHtml(token?.content ?? "");
      return `<span class="blocked" title="Pictures are not loaded">${words || "picture"}</span>`;
    };
    this.linkPaths();
  }

  /** Return the text as HTML that is safe to insert. */
  html(text: string): string {
    return this.purify.sanitize(this.parser.render(text), {
      ALLOWED_TAGS,
      ALLOWED_ATTR,
      ALLOW_DATA_ATTR: false,
      // These hold no addresses; the expression below is for those that do.
      ADD_URI_SAFE_ATTR: ["start", "dir", "data-path", "data-line", "data-end"],
      ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i,
    });
  }

  /** Return where the last block begins: what stands before it no longer changes. */
  lastBlock(text: string): number {
    const last = this.parser
      .parse(text, {})
      .findLast(({ level, map, nesting }) => level === 0 && map !== null && nesting >= 0);
    return lineOffset(text, last?.map?.[0] ?? 0);
  }

  private linkPaths(): void {
    const escape = this.parser.utils.escapeHtml;
    this.parser.renderer.rules["text"] = (tokens, index) => linked(tokens[index]?.content ?? "", escape);
    this.parser.renderer.rules["code_inline"] = (tokens, index) =>
      `<code>${linked(tokens[index]?.content ?? "", escape)}</code>`;
  }
}

function linked(text: string, escape: (text: string) => string): string {
  let html = "";
  let at = 0;
  for (const { start, end, path, line, endLine } of pathLinks(text)) {
    const last = endLine === undefined ? "" : ` data-end="${endLine}"`;
    const target = `data-path="${escape(path)}" data-line="${line}"${last}`;
    html += `${escape(text.slice(at, start))}<a href="#" ${target}>${escape(text.slice(start, end))}</a>`;
    at = end;
  }
  return html + escape(text.slice(at));
}

function highlight(code: string, language: string): string {
  const known = hljs.getLanguage(language) !== undefined && code.length <= HIGHLIGHTED_CHARS;
  return known ? hljs.highlight(code, { language, ignoreIllegals: true }).value : "";
}

function lineOffset(text: string, line: number): number {
  let at = 0;
  for (let n = 0; n < line; n++) {
    const next = text.indexOf("\n", at);
    if (next < 0) return text.length;
    at = next + 1;
  }
  return at;
}
