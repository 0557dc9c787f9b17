/** Open questions as cards above the message box: the whole of what would happen, and the answers. */
import type { ApprovalRequest, Outcome } from "../../../protocol";
import { OUTCOME_LABELS, bracketed } from "../../../text";
import type { PageContext } from "./context";
import { h, icon } from "./dom";

const MAX_SHOWN_LINES = 12;

export class ApprovalsView {
  readonly element = h("section", { class: "approvals", "aria-label": "Questions for you", hidden: true });
  private readonly cards = new Map<string, HTMLElement>();
  private readonly count = h("div", { class: "approvals-count" });

  constructor(private readonly context: PageContext) {
    this.element.append(this.count);
  }

  draw(): void {
    const { approvals } = this.context.model;
    const open = new Set(approvals.map(({ id }) => id));
    for (const [id, card] of this.cards) {
      if (open.has(id)) continue;
      this.remove(id, card);
    }
    for (const request of approvals) {
      if (this.cards.has(request.id)) continue;
      const card = this.card(request);
      this.cards.set(request.id, card);
      this.element.append(card);
      this.context.announce(`${bracketed(request.tag)} asks: ${request.title}. ${request.detail}`);
    }
    this.element.hidden = approvals.length === 0;
    this.count.hidden = approvals.length < 2;
    this.count.textContent = `${approvals.length} questions for you`;
  }

  /** The focus goes on to the next question, not to nowhere. */
  private remove(id: string, card: HTMLElement): void {
    const focused = card.contains(document.activeElement);
    const next = card.nextElementSibling ?? (this.cards.size > 1 ? card.previousElementSibling : null);
    card.remove();
    this.cards.delete(id);
    if (focused && next instanceof HTMLElement) next.focus();
    else if (focused) document.querySelector<HTMLElement>(".composer textarea")?.focus();
  }

  private card(request: ApprovalRequest): HTMLElement {
    const label = `${bracketed(request.tag)} ${request.title}`;
    const card = h("div", { class: "approval", tabindex: -1, role: "group", "aria-label": label });
    if (request.color !== null) card.dataset["color"] = request.color;
    const asks = request.choices.length > 0;
    const because = h("input", {
      type: "text",
      class: "because",
      placeholder: asks ? "Or answer in your own words" : "Deny, and say what to do instead",
      "aria-label": asks ? "Answer in your own words" : "Deny and say why",
      keydown: (event) => {
        if (event instanceof KeyboardEvent && event.key === "Enter" && because.value.trim()) {
          this.answer(request, asks ? "allow_once" : "deny", because.value.trim());
        }
      },
    });
    card.append(
      h(
        "div",
        { class: "approval-head" },
        icon("bell-dot"),
        h("span", {}, h("span", { class: "approval-tag" }, bracketed(request.tag)), ` ${request.title}`),
      ),
      ...(asks ? [] : detail(request)),
      h("div", { class: "approval-reason" }, request.reason),
      asks ? this.choices(request) : this.buttons(request),
      because,
    );
    card.addEventListener("keydown", (event) => this.keyed(event, request));
    return card;
  }

  /** The answers to a question of the agent's own, each with what it would mean. */
  private choices(request: ApprovalRequest): HTMLElement {
    const choose = (label: string) => () => this.answer(request, "allow_once", label);
    const rows: HTMLElement[] = request.choices.map(({ label, description }, index) =>
      h(
        "div",
        { class: "choice" },
        h("button", { type: "button", class: "secondary", title: `Key ${index + 1}`, click: choose(label) }, label),
        h("span", { class: "part-why" }, description),
      ),
    );
    const skip = () => this.answer(request, "deny");
    rows.push(h("button", { type: "button", class: "link", click: skip }, "Skip"));
    return h("div", { class: "choices" }, ...rows);
  }

  private buttons(request: ApprovalRequest): HTMLElement {
    const row = h("div", { class: "buttons" });
    request.outcomes.forEach((outcome, index) => {
      const look = outcome === "allow_once" ? "primary" : "secondary";
      const title = outcome === "allow_always" ? `Save a rule: ${request.rules.join(", ")}` : `Key ${index + 1}`;
      row.append(
        h(
          "button",
          { type: "button", class: look, title, click: () => this.answer(request, outcome) },
          OUTCOME_LABELS[outcome],
        ),
      );
    });
    if (request.diff !== null) {
      const show = () => this.context.send({ kind: "diff", id: request.id });
      row.append(h("button", { type: "button", class: "link", click: show }, "Show diff"));
    }
    return row;
  }

  /** Digits answer, while the card and not its text field has the focus. */
  private keyed(event: KeyboardEvent, request: ApprovalRequest): void {
    if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
    const choice = request.choices[Number(event.key) - 1];
    if (choice !== undefined) {
      event.preventDefault();
      this.answer(request, "allow_once", choice.label);
      return;
    }
    const outcome = request.choices.length > 0 ? undefined : request.outcomes[Number(event.key) - 1];
    if (outcome === undefined) return;
    event.preventDefault();
    this.answer(request, outcome);
  }

  private answer({ id }: ApprovalRequest, outcome: Outcome, message = ""): void {
    this.context.send({ kind: "answer", id, outcome, message });
  }
}

/** All of it: wrapped, never cut; what is long scrolls, and says so. */
function detail({ detail: text, parts, title }: ApprovalRequest): Node[] {
  const lines = text.split("\n").length;
  const nodes: Node[] = [];
  if (text.trim() !== "" && !title.includes(text.trim())) {
    nodes.push(h("pre", { class: "approval-detail", tabindex: 0, "aria-label": "What would happen" }, text));
  }
  if (lines > MAX_SHOWN_LINES)
    nodes.push(h("div", { class: "approval-note" }, `${lines} lines; scroll to read all of them`));
  if (parts.length > 1) {
    const items = parts.map((part) =>
      h(
        "li",
        { class: `part part-${part.decision}` },
        h("code", {}, part.text),
        h("span", { class: "part-why" }, `${part.decision}: ${part.reason}`),
      ),
    );
    nodes.push(h("ul", { class: "parts" }, ...items));
  }
  return nodes;
}
