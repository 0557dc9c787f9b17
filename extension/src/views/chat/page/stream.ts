/** Markdown that grows: finished blocks are drawn once, only the last one is drawn anew. */
import type { Markdown } from "./markdown";

const OPEN_FENCE = /^(```+|~~~+)([^\n`]*)\n/;

export class StreamedMarkdown {
  private readonly done: HTMLElement[] = [];
  private readonly last: HTMLElement;
  private settled = 0;
  private text = "";
  /** The open code block that grows in place, without being parsed again. */
  private code: { node: Text; length: number } | undefined;

  constructor(
    root: HTMLElement,
    private readonly markdown: Markdown,
    /** Called with each block that is finished. */
    private readonly finish: (block: HTMLElement) => void,
  ) {
    this.last = document.createElement("div");
    root.append(this.last);
  }

  /** Show this text; what was shown before is usually its beginning. */
  update(text: string, streaming: boolean): void {
    if (text === this.text && streaming) return;
    if (!text.startsWith(this.text.slice(0, this.settled))) this.restart();
    this.text = text;
    const tail = text.slice(this.settled);
    if (streaming && this.growCode(tail)) return;
    this.code = undefined;
    const at = streaming ? this.markdown.lastBlock(tail) : tail.length;
    if (at > 0) this.settle(tail.slice(0, at));
    const rest = tail.slice(at);
    if (streaming && this.beginCode(rest)) return;
    this.draw(this.last, rest);
  }

  private restart(): void {
    for (const block of this.done) block.remove();
    this.done.length = 0;
    this.settled = 0;
    this.code = undefined;
  }

  private settle(text: string): void {
    const block = document.createElement("div");
    this.draw(block, text);
    this.finish(block);
    this.last.before(block);
    this.done.push(block);
    this.settled += text.length;
  }

  private draw(into: HTMLElement, text: string): void {
    into.innerHTML = text.trim() === "" ? "" : this.markdown.html(text);
  }

  private growCode(tail: string): boolean {
    if (this.code === undefined) return false;
    const more = tail.slice(this.code.length);
    // A fence might be closing: look again.
    if (/^\s*(?:```|~~~)/m.test(tail.slice(tail.lastIndexOf("\n", this.code.length - 1) + 1))) return false;
    this.code.node.appendData(more);
    this.code.length = tail.length;
    return true;
  }

  private beginCode(tail: string): boolean {
    const fence = OPEN_FENCE.exec(tail);
    if (fence === null) return false;
    const body = tail.slice(fence[0].length);
    if (/^\s*(?:```|~~~)/m.test(body)) return false;
    const node = document.createTextNode(body);
    const pre = document.createElement("pre");
    const code = document.createElement("code");
    code.append(node);
    pre.append(code);
    this.last.replaceChildren(pre);
    this.code = { node, length: tail.length };
    return true;
  }
}
