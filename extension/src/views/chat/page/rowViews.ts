/** One view for each kind of row. A view is made once and updated in place. */
import { plural } from "../../../text";
import { CardView } from "./cardView";
import { addCodeButtons } from "./code";
import type { PageContext } from "./context";
import { button, fill, h, icon, iconButton } from "./dom";
import type { EndRow, FailedRow, NewsRow, NoticeRow, ProseRow, Row, ToolRow, UserRow } from "./rows";
import { StreamedMarkdown } from "./stream";
import { ToolView } from "./toolView";

export interface RowView {
  element: HTMLElement;
  update: (row: Row) => void;
  /** What changes with time alone, where something does. */
  tick?: () => void;
  /** The subagent it shows. */
  taskId?: string;
}

export function rowView(row: Row, context: PageContext): RowView {
  switch (row.kind) {
    case "user":
      return userView(row, context);
    case "news":
      return still(newsView(row));
    case "text":
      return textView(row, context);
    case "thinking":
      return thinkingView(row);
    case "tool":
      return row.taskId === null ? callView(row) : cardView(row.taskId, context);
    case "task":
      return cardView(row.taskId, context);
    case "notice":
      return still(noticeView(row));
    case "failed":
      return still(failedView(row, context));
    case "end":
      return still(endView(row));
    default:
      return row satisfies never;
  }
}

/** Whether the row needs another view than the one it has: a call has turned out to be a subagent. */
export function outgrown(view: RowView, row: Row): boolean {
  return row.kind === "tool" && row.taskId !== null && view.taskId !== row.taskId;
}

function still(element: HTMLElement): RowView {
  return { element, update: () => undefined };
}

function userView(row: UserRow, context: PageContext): RowView {
  const copy = iconButton("copy", "Copy", () => context.send({ kind: "copy", text: row.text }));
  const places = row.places.map((place) =>
    h("span", { class: "place", title: place }, icon("file"), place.replace(/^.*[\\/]/, "")),
  );
  const words = h("span", { class: "user-text" }, h("span", { class: "sr-only" }, "You: "), row.text);
  return still(
    h(
      "div",
      { class: "user", dir: "auto" },
      words,
      places.length > 0 && h("div", { class: "places" }, ...places),
      copy,
    ),
  );
}

function newsView(row: NewsRow): HTMLElement {
  const tasks = [...row.text.matchAll(/^task: (.+)\n\{"status":\s*"(\w+)"/gm)];
  const title = tasks.map(([, task, status]) => `${task} ${status}`).join(", ") || "News of a background task";
  return h("details", { class: "news" }, h("summary", {}, icon("bell"), title), h("pre", { tabindex: 0 }, row.text));
}

function textView(row: ProseRow, context: PageContext): RowView {
  const element = h("div", { class: "prose", dir: "auto" });
  const stream = new StreamedMarkdown(element, context.markdown, (block) => addCodeButtons(block, context.send));
  const update = (next: Row): void => {
    if (next.kind !== "text") return;
    element.classList.toggle("streaming", next.streaming);
    stream.update(next.text, next.streaming);
  };
  update(row);
  return { element, update };
}

function thinkingView(row: ProseRow): RowView {
  const words = h("span", {});
  const body = document.createTextNode("");
  const element = h(
    "details",
    { class: "thinking" },
    h("summary", {}, icon("lightbulb"), words),
    h("div", { class: "thinking-text", dir: "auto" }, body),
  );
  const update = (next: Row): void => {
    if (next.kind !== "thinking") return;
    words.textContent = next.streaming ? "Thinking…" : "Thought";
    if (next.text.startsWith(body.data)) body.appendData(next.text.slice(body.length));
    else body.data = next.text;
  };
  update(row);
  return { element, update };
}

function callView(row: ToolRow): RowView {
  const view = new ToolView(row);
  return {
    element: view.element,
    update: (next) => {
      if (next.kind === "tool") view.update(next);
    },
  };
}

function cardView(taskId: string, context: PageContext): RowView {
  const card = new CardView(context, taskId);
  return { element: card.element, update: () => card.update(), tick: () => card.tick(), taskId };
}

const NOTICE_ICONS = { info: "info", warning: "warning", error: "error" } as const;

function noticeView({ level, text }: NoticeRow): HTMLElement {
  return h("div", { class: `notice notice-${level}`, dir: "auto" }, icon(NOTICE_ICONS[level]), h("span", {}, text));
}

function failedView({ message }: FailedRow, { send }: PageContext): HTMLElement {
  const element = h("div", { class: "failed", role: "alert" });
  const actions = h("div", { class: "buttons" });
  if (/\bkey\b|401|403|auth/i.test(message)) {
    actions.append(button("Set API key", "primary", () => send({ kind: "command", command: "setApiKey" })));
  }
  actions.append(
    button("Select model", "secondary", () => send({ kind: "command", command: "selectModel" })),
    button("Show log", "secondary", () => send({ kind: "command", command: "showLog" })),
  );
  fill(
    element,
    h("div", { class: "failed-title" }, icon("error"), "The turn failed"),
    h("div", { dir: "auto" }, message),
    actions,
  );
  return element;
}

const ENDS: Readonly<Record<EndRow["stop"], string>> = {
  cancelled: "Stopped",
  max_tokens: "The answer was cut: the model reached its longest output",
  max_turn_requests: "The turn ended at its limit of model requests. Say “go on” to continue",
  refusal: "The model declined to answer",
};

function endView({ stop, reason }: EndRow): HTMLElement {
  return h(
    "div",
    { class: "end" },
    h("span", {}, reason && stop !== "cancelled" ? `${ENDS[stop]}: ${reason}` : ENDS[stop]),
  );
}

export function queuedView(texts: readonly string[]): HTMLElement | null {
  if (texts.length === 0) return null;
  const title = `${plural(texts.length, "message")} queued`;
  return h(
    "div",
    { class: "queued", "aria-label": title },
    h("div", { class: "queued-title" }, title),
    ...texts.map((text) => h("div", { class: "queued-text", dir: "auto" }, text)),
  );
}
