/** The list that `@` opens in the message box. */
import type { Attachment, Completion } from "../messages";
import type { PageContext } from "./context";
import { fill, h, icon } from "./dom";

const WORD = /(?:^|\s)@([^\s@]*)$/;

export class Suggest {
  readonly element = h("div", {
    class: "suggest",
    id: "suggest",
    role: "listbox",
    "aria-label": "Suggestions",
    hidden: true,
  });
  private items: readonly Completion[] = [];
  private selected = 0;
  private request = 0;

  constructor(
    private readonly context: PageContext,
    private readonly box: HTMLTextAreaElement,
    private readonly chosen: (attachment: Attachment | null) => void,
  ) {}

  get open(): boolean {
    return !this.element.hidden;
  }

  /** The text or the caret has changed. */
  look(): void {
    const query = this.query();
    if (query === undefined) return this.close();
    this.request++;
    this.context.send({ kind: "complete", request: this.request, query });
  }

  show(request: number, items: readonly Completion[]): void {
    if (request !== this.request || this.query() === undefined) return;
    this.items = items;
    this.selected = 0;
    this.element.hidden = items.length === 0;
    this.draw();
  }

  close(): void {
    this.request++;
    this.element.hidden = true;
    this.box.removeAttribute("aria-activedescendant");
  }

  /** Take a key, if it is for the list. */
  key(key: string): boolean {
    if (!this.open) return false;
    if (key === "Escape") this.close();
    else if (key === "ArrowDown") this.move(1);
    else if (key === "ArrowUp") this.move(-1);
    else if (key === "Enter" || key === "Tab") this.choose(this.selected);
    else return false;
    return true;
  }

  private query(): string | undefined {
    return WORD.exec(this.box.value.slice(0, this.box.selectionStart))?.[1];
  }

  private move(by: number): void {
    this.selected = (this.selected + by + this.items.length) % this.items.length;
    this.draw();
  }

  private choose(index: number): void {
    const item = this.items[index];
    const query = this.query();
    if (item === undefined || query === undefined) return this.close();
    const caret = this.box.selectionStart;
    this.box.setRangeText(`@${item.insert} `, caret - query.length - 1, caret, "end");
    this.close();
    this.chosen(item.context && { word: item.insert, context: item.context });
  }

  private draw(): void {
    const options = this.items.map((item, index) =>
      h(
        "div",
        {
          class: "option",
          id: `option-${index}`,
          role: "option",
          "aria-selected": String(index === this.selected),
          // The box keeps the focus.
          mousedown: (event) => {
            event.preventDefault();
            this.choose(index);
          },
        },
        icon(item.icon),
        h("span", { class: "option-label" }, item.label),
        h("span", { class: "option-detail" }, item.detail),
      ),
    );
    fill(this.element, ...options);
    this.box.setAttribute("aria-activedescendant", `option-${this.selected}`);
    options[this.selected]?.scrollIntoView({ block: "nearest" });
  }
}
