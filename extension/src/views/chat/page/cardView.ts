/** A subagent as a card: who, what it does now, what it used, and what one can do about it. */
import type { TaskRecord, TaskState } from "../../../protocol";
import { TERMINAL, count, duration, elapsed, plural, taskLine, taskTitle, tokens } from "../../../text";
import type { TaskAction } from "../messages";
import { type PageContext, now } from "./context";
import { fill, h, icon, iconButton } from "./dom";

const ICONS: Readonly<Record<TaskState, string>> = {
  queued: "clock",
  running: "loading~spin",
  waiting: "bell-dot",
  stopping: "loading~spin",
  completed: "check",
  partial: "warning",
  failed: "error",
  stopped: "debug-stop",
  interrupted: "debug-disconnect",
};

const CHOSEN_BY_NAME = /^(?:red|blue|green|yellow|purple|orange|pink|cyan)$/;

export class CardView {
  readonly element = h("article", { class: "card" });
  private readonly state = h("span", { class: "card-state" });
  private readonly name = h("span", { class: "card-name" });
  private readonly title = h("span", { class: "card-title", dir: "auto" });
  private readonly line = h("div", { class: "card-line", dir: "auto" });
  private readonly figures = h("div", { class: "card-figures" });
  private readonly actions = h("div", { class: "card-actions" });
  private readonly report = h("details", { class: "card-report" });
  private readonly children = h("div", { class: "card-children" });
  private drawn = "";
  private reported = "";
  private readonly cards = new Map<string, CardView>();

  constructor(
    private readonly context: PageContext,
    private readonly id: string,
  ) {
    const head = h("div", { class: "card-head" }, this.state, this.name, this.title, this.actions);
    this.element.append(head, this.line, this.figures, this.report, this.children);
    this.update();
  }

  update(): void {
    const task = this.context.model.tasks.get(this.id);
    if (task === undefined) return;
    this.element.dataset["state"] = task.state;
    if (CHOSEN_BY_NAME.test(task.color ?? "")) this.element.dataset["color"] = task.color ?? "";
    this.element.setAttribute("aria-label", `Subagent ${task.agent}: ${taskTitle(task)}`);
    this.name.textContent = task.name ?? task.agent;
    this.title.textContent = taskTitle(task);
    this.title.title = taskTitle(task);
    this.drawState(task);
    this.drawReport(task);
    this.drawChildren();
    this.tick();
  }

  /** What changes with time alone. */
  tick(): void {
    const task = this.context.model.tasks.get(this.id);
    if (task === undefined) return;
    this.line.textContent = taskLine(task, now());
    const used = `${count(tokens(task.usage))} tokens`;
    this.figures.textContent = [plural(task.toolCalls, "tool call"), used, duration(elapsed(task, now()))].join(" · ");
    for (const card of this.cards.values()) card.tick();
  }

  /** Buttons are made anew only when others are needed: one that has the focus keeps it. */
  private drawState(task: TaskRecord): void {
    const over = TERMINAL.has(task.state);
    const background = !over && !task.background && task.parentAgentId !== null && this.context.canBackground();
    const drawn = `${task.state} ${background}`;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    fill(this.state, icon(ICONS[task.state]));
    const act = (action: TaskAction) => () => this.context.send({ kind: "task", ids: [this.id], action });
    fill(
      this.actions,
      background && iconButton("arrow-down", "Move to background", act("background")),
      iconButton("output", "Open transcript", act("transcript")),
      over && iconButton("go-to-file", "Open report", act("report")),
      !over && task.state !== "stopping" && iconButton("debug-stop", "Stop", act("stop")),
    );
  }

  private drawReport({ envelope }: TaskRecord): void {
    const text = envelope?.report.trim() ?? "";
    this.report.hidden = text === "";
    if (text === this.reported) return;
    this.reported = text;
    const body = h("div", { class: "prose", dir: "auto" });
    body.innerHTML = this.context.markdown.html(text);
    fill(this.report, h("summary", {}, "Report"), body);
  }

  private drawChildren(): void {
    for (const { id } of this.context.model.children(this.id)) {
      const known = this.cards.get(id);
      if (known !== undefined) {
        known.update();
        continue;
      }
      const card = new CardView(this.context, id);
      this.cards.set(id, card);
      this.children.append(card.element);
    }
  }
}
