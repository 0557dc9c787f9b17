/** The conversation: rows by key, the newest part of a long one, kept at its end while the reader is there. */
import { type PageContext } from "./context";
import { button, h, iconButton } from "./dom";
import type { Changes } from "./model";
import { type RowView, outgrown, rowView } from "./rowViews";
import type { Row } from "./rows";

const FIRST_ROWS = 150;
const MORE_ROWS = 300;
const NEAR_END_PX = 48;

export class Transcript {
  readonly element = h("main", { class: "transcript", tabindex: -1 });
  private readonly list = h("div", { class: "rows", role: "log", "aria-live": "off", "aria-label": "Conversation" });
  private readonly earlier: HTMLButtonElement;
  private readonly toEnd: HTMLButtonElement;
  private readonly views = new Map<string, RowView>();
  /** Index of the first row that is drawn. */
  private first = 0;
  private atEnd = true;
  private lastTop = 0;
  private lastHeight = 0;

  constructor(private readonly context: PageContext) {
    this.earlier = button("Show earlier messages", "secondary", () => this.showEarlier());
    this.toEnd = iconButton("arrow-down", "Go to the newest message", () => this.scrollToEnd());
    this.toEnd.classList.add("to-end");
    this.earlier.hidden = true;
    this.toEnd.hidden = true;
    this.element.append(this.earlier, this.list, this.toEnd);
    this.element.addEventListener("scroll", () => this.scrolled(), { passive: true });
    const sizes = new ResizeObserver(() => this.follow());
    sizes.observe(this.element);
    // Rows get their true height only when they come into view.
    sizes.observe(this.list);
    this.list.addEventListener("click", (event) => this.clicked(event));
    new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) this.showEarlier();
    }).observe(this.earlier);
  }

  draw(changes: Changes): void {
    const { rows } = this.context.model;
    if (changes.all) this.restart(rows);
    else this.drawChanged(rows, changes);
    this.earlier.hidden = this.first === 0;
    this.follow();
  }

  tick(): void {
    for (const view of this.views.values()) view.tick?.();
  }

  scrollToEnd(): void {
    this.atEnd = true;
    this.follow();
  }

  private restart(rows: readonly Row[]): void {
    this.views.clear();
    this.list.replaceChildren();
    this.first = Math.max(0, rows.length - FIRST_ROWS);
    for (const row of rows.slice(this.first)) this.list.append(this.viewOf(row).element);
    this.atEnd = true;
  }

  private drawChanged(rows: readonly Row[], { rows: keys, tasks }: Changes): void {
    if (keys.size > 0) this.drawRows(rows, keys);
    if (tasks.size === 0) return;
    for (const row of rows) {
      if ("taskId" in row && row.taskId !== null && tasks.has(row.taskId)) this.views.get(row.key)?.update(row);
    }
  }

  private drawRows(rows: readonly Row[], keys: ReadonlySet<string>): void {
    const present = new Set<string>();
    // New and changed rows are nearly always at the end.
    for (let n = rows.length - 1, left = keys.size; n >= this.first && left > 0; n--) {
      const row = rows[n];
      if (row === undefined || !keys.has(row.key)) continue;
      left--;
      present.add(row.key);
      this.drawRow(row, rows[n + 1]);
    }
    for (const key of keys) {
      if (!present.has(key)) this.drop(key);
    }
  }

  private drawRow(row: Row, next: Row | undefined): void {
    const known = this.views.get(row.key);
    if (known !== undefined && !outgrown(known, row)) return known.update(row);
    known?.element.remove();
    this.views.delete(row.key);
    const following = next === undefined ? null : (this.views.get(next.key)?.element ?? null);
    this.list.insertBefore(this.viewOf(row).element, following);
  }

  private drop(key: string): void {
    this.views.get(key)?.element.remove();
    this.views.delete(key);
  }

  private viewOf(row: Row): RowView {
    const view = rowView(row, this.context);
    view.element.classList.add("row");
    this.views.set(row.key, view);
    return view;
  }

  private showEarlier(): void {
    const { rows } = this.context.model;
    if (this.first === 0) return;
    const from = Math.max(0, this.first - MORE_ROWS);
    const height = this.element.scrollHeight;
    this.list.prepend(...rows.slice(from, this.first).map((row) => this.viewOf(row).element));
    this.first = from;
    this.earlier.hidden = from === 0;
    // What the reader looks at stays where it is.
    this.element.scrollTop += this.element.scrollHeight - height;
  }

  private scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    if (scrollHeight - scrollTop - clientHeight < NEAR_END_PX) this.atEnd = true;
    // Only a reader scrolls up while nothing changes its height.
    else if (scrollTop < this.lastTop && scrollHeight === this.lastHeight) this.atEnd = false;
    this.lastTop = scrollTop;
    this.lastHeight = scrollHeight;
    this.toEnd.hidden = this.atEnd;
  }

  private follow(): void {
    if (this.atEnd) this.element.scrollTop = this.element.scrollHeight;
    this.toEnd.hidden = this.atEnd;
  }

  private clicked(event: MouseEvent): void {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null) return;
    event.preventDefault();
    const { path, line, end } = link.dataset;
    if (path !== undefined) {
      this.context.send({ kind: "open", path, line: line ? Number(line) : null, endLine: end ? Number(end) : null });
    } else {
      this.context.send({ kind: "link", href: link.getAttribute("href") ?? "" });
    }
  }
}
