/** A tool call as a row that opens: input, output, changes. */
import { fill, h, icon } from "./dom";
import { diffView } from "./diffView";
import { type ToolRow, type ToolState, toolTitle } from "./rows";

const SHOWN_CHARS = 20_000;

const ICONS: Readonly<Record<ToolState, string>> = {
  pending: "circle-outline",
  running: "loading~spin",
  done: "check",
  failed: "error",
  denied: "circle-slash",
};

const WORDS: Readonly<Record<ToolState, string>> = {
  pending: "waiting",
  running: "running",
  done: "",
  failed: "failed",
  denied: "denied",
};

export class ToolView {
  readonly element: HTMLDetailsElement;
  private readonly summary = h("summary", {});
  private readonly body = h("div", { class: "tool-body" });
  private row: ToolRow;

  constructor(row: ToolRow) {
    this.row = row;
    this.element = h("details", { class: "tool", toggle: () => this.drawBody() }, this.summary, this.body);
    this.update(row);
  }

  update(row: ToolRow): void {
    this.row = row;
    const denied = row.deniedBy && `denied by ${row.deniedBy === "person" ? "you" : row.deniedBy}`;
    const note = row.state === "running" ? row.progress : denied || WORDS[row.state];
    this.element.dataset["state"] = row.state;
    const glyph = icon(ICONS[row.state]);
    const title = h("span", { class: "tool-title" }, toolTitle(row));
    fill(this.summary, glyph, title, note !== "" && h("span", { class: "tool-note" }, note));
    this.drawBody();
  }

  /** Nothing is built for a row that is closed. */
  private drawBody(): void {
    if (!this.element.open) return;
    const { row } = this;
    fill(
      this.body,
      ...part("Input", input(row)),
      row.diff !== null && h("h4", {}, "Changes"),
      row.diff !== null && diffView(row.diff),
      ...(row.output ? part("Output", row.output) : []),
    );
  }
}

function part(title: string, text: string): Node[] {
  const rest = text.length - SHOWN_CHARS;
  const shown = rest > 0 ? `${text.slice(0, SHOWN_CHARS)}\n… ${rest} more characters, in the transcript` : text;
  return [h("h4", {}, title), h("pre", { tabindex: 0 }, shown)];
}

function input({ call }: ToolRow): string {
  const entries = Object.entries(call.arguments ?? {});
  if (call.arguments === null) return call.raw;
  return entries
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("\n");
}
