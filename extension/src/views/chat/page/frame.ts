/** What stands around the conversation: the state of the server, the first words, to-dos and what is queued. */
import type { Todo } from "../../../protocol";
import type { PageCommand, ToPage } from "../messages";
import type { PageContext } from "./context";
import { button, fill, h, icon } from "./dom";
import { queuedView } from "./rowViews";

type ServerNews = Extract<ToPage, { kind: "server" }>;

const TODO_ICONS = { pending: "circle-outline", in_progress: "arrow-right", completed: "check" } as const;

const STARTERS = [
  ["How is this folder built, and where should I start reading?", "telescope"],
  ["Explore in the background: where are errors handled?", "search"],
] as const;

export class Frame {
  readonly banner = h("div", { class: "banner", role: "status" });
  readonly empty = h("section", { class: "empty", "aria-label": "Start" });
  readonly below = h("div", { class: "below" });
  private readonly todos = h("details", { class: "todos", hidden: true });
  private readonly queue = h("div", {});

  constructor(
    private readonly context: PageContext,
    private readonly start: (text: string) => void,
  ) {
    this.below.append(this.todos, this.queue);
    this.empty.hidden = true;
    this.serverIs({ kind: "server", state: "starting", message: "" });
  }

  serverIs({ state, message }: ServerNews): void {
    this.banner.hidden = state === "ready";
    const commands = h(
      "div",
      { class: "buttons" },
      this.command("Show log", "showLog"),
      this.command("Restart server", "restart"),
    );
    this.banner.className = `banner banner-${state}`;
    switch (state) {
      case "starting":
        fill(this.banner, icon("loading~spin"), "Starting the Ensign server…");
        break;
      case "failed":
        fill(this.banner, h("div", {}, icon("error"), ` ${message}`), commands);
        break;
      case "stopped":
        fill(this.banner, h("div", {}, "The Ensign server is stopped."), commands);
        break;
      case "ready":
        fill(this.banner);
        break;
      default:
        state satisfies never;
    }
  }

  draw(): void {
    const { todos, queued, rows, turnId } = this.context.model;
    this.drawTodos(todos);
    fill(this.queue, queuedView(queued));
    const empty = rows.length === 0 && turnId === null;
    if (empty && this.empty.hidden) this.drawEmpty();
    this.empty.hidden = !empty;
  }

  private drawTodos(todos: readonly Todo[]): void {
    const done = todos.filter(({ status }) => status === "completed").length;
    this.todos.hidden = todos.length === 0 || done === todos.length;
    const now = todos.find(({ status }) => status === "in_progress")?.activeForm ?? "To do";
    const items = todos.map(({ content, status }) =>
      h("li", { class: `todo todo-${status}` }, icon(TODO_ICONS[status]), h("span", { dir: "auto" }, content)),
    );
    fill(
      this.todos,
      h(
        "summary",
        {},
        icon("checklist"),
        h("span", {}, now),
        h("span", { class: "todo-count" }, `${done} of ${todos.length}`),
      ),
      h("ul", {}, ...items),
    );
  }

  private drawEmpty(): void {
    const starters = STARTERS.map(([text, glyph]) =>
      h("button", { type: "button", class: "starter", click: () => this.start(text) }, icon(glyph), text),
    );
    const offline = this.context.model.model.includes("offline");
    fill(
      this.empty,
      h("h2", {}, "What shall we look at?"),
      h(
        "p",
        {},
        "The agent answers here, and delegates to subagents. You see each of them at work, and can stop or answer each.",
      ),
      h("div", { class: "starters" }, ...starters),
      h(
        "p",
        { class: "hint" },
        "Type @ to add a file, your selection or an agent. In an editor, right-click a symbol and choose “Explore this with a subagent”.",
      ),
      offline &&
        h(
          "div",
          { class: "offline" },
          h("p", {}, "No language model is set up: Ensign’s offline policy searches and reports, but does not think."),
          h(
            "div",
            { class: "buttons" },
            this.command("Set API key", "setApiKey"),
            this.command("Select model", "selectModel"),
          ),
        ),
    );
  }

  private command(label: string, command: PageCommand): HTMLButtonElement {
    return button(label, "secondary", () => this.context.send({ kind: "command", command }));
  }
}
