/** The message box: draft, history, what goes along, sending and stopping. */
import type { ContextItem } from "../../../protocol";
import { MODE_LABELS, count } from "../../../text";
import type { Attachment } from "../messages";
import type { PageContext } from "./context";
import { fill, h, icon, iconButton } from "./dom";
import { Suggest } from "./suggest";

/** What the page remembers while it is hidden. */
export interface Draft {
  text: string;
  attachments: Attachment[];
  history: string[];
}

const HISTORY = 100;

export class Composer {
  readonly element = h("form", { class: "composer" });
  readonly suggest: Suggest;
  private readonly box = h("textarea", {
    rows: 1,
    placeholder: "Ask, or type @ for files and agents",
    "aria-label": "Message",
    "aria-autocomplete": "list",
    "aria-controls": "suggest",
    dir: "auto",
  });
  private readonly model = h("button", { type: "button", class: "pick", title: "Model of this chat" });
  private readonly mode = h("button", { type: "button", class: "pick", title: "What this chat may do without asking" });
  private readonly used = h("span", { class: "used" });
  private readonly action = h("span", {});
  private readonly history: string[];
  private attachments: Attachment[];
  /** Where the arrow keys are in the history; its length is the draft itself. */
  private at: number;
  private draft = "";
  private enabled = false;
  private acting: string | undefined;

  constructor(
    private readonly context: PageContext,
    kept: Draft | undefined,
    private readonly keep: (draft: Draft) => void,
  ) {
    this.history = kept?.history ?? [];
    this.attachments = kept?.attachments ?? [];
    this.at = this.history.length;
    this.box.value = kept?.text ?? "";
    this.suggest = new Suggest(context, this.box, (attachment) => this.attach(attachment));
    const at = iconButton("mention", "Add a file, the selection or an agent", () =>
      this.insert(needsSpace(this.box) ? " @" : "@"),
    );
    this.model.addEventListener("click", () => context.send({ kind: "command", command: "selectModel" }));
    this.mode.addEventListener("click", () => context.send({ kind: "command", command: "selectMode" }));
    const foot = h("div", { class: "composer-foot" }, at, this.model, this.mode, this.used, this.action);
    this.element.append(this.suggest.element, h("div", { class: "composer-box" }, this.box, foot));
    this.listen();
    // Its height follows from its width, which is known once it is on the page.
    new ResizeObserver(() => this.grow()).observe(this.element);
  }

  focus(): void {
    this.box.focus();
  }

  insert(text: string, attachment: Attachment | null = null): void {
    this.box.focus();
    this.box.setRangeText(text, this.box.selectionStart, this.box.selectionEnd, "end");
    if (attachment) this.attachments.push(attachment);
    this.changed();
  }

  /** Give a message back that could not be sent. */
  restore(text: string): void {
    if (this.box.value === "") this.box.value = text;
    this.changed();
  }

  enable(enabled: boolean): void {
    this.enabled = enabled;
    this.draw();
  }

  draw(): void {
    const { model, mode, tokens, turnId } = this.context.model;
    fill(this.model, icon("symbol-misc"), h("span", {}, model.replace(/^.*\//, "") || "model"));
    fill(this.mode, icon("shield"), h("span", {}, MODE_LABELS[mode] ?? mode));
    this.used.textContent = tokens > 0 ? `${count(tokens)} tokens` : "";
    const acting = turnId !== null && this.box.value.trim() === "" ? "stop" : "send";
    const now = `${acting} ${this.enabled}`;
    if (this.acting === now) return;
    this.acting = now;
    const button =
      acting === "stop"
        ? iconButton("debug-stop", "Stop (Escape)", () => this.context.send({ kind: "cancel" }))
        : iconButton(
            turnId === null ? "send" : "list-ordered",
            turnId === null ? "Send (Enter)" : "Queue (Enter)",
            () => this.submit(),
          );
    button.classList.add("send");
    button.disabled = !this.enabled;
    fill(this.action, button);
  }

  private listen(): void {
    this.box.addEventListener("input", () => this.changed());
    this.box.addEventListener("blur", () => this.suggest.close());
    this.box.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (this.suggest.key(event.key) || this.key(event)) event.preventDefault();
    });
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
  }

  private key(event: KeyboardEvent): boolean {
    switch (event.key) {
      case "Enter":
        if (event.shiftKey || event.altKey) return false;
        this.submit();
        return true;
      case "ArrowUp":
        return this.box.selectionStart === 0 && this.box.selectionEnd === 0 && this.recall(-1);
      case "ArrowDown":
        return this.box.selectionStart === this.box.value.length && this.recall(1);
      default:
        return false;
    }
  }

  private recall(by: number): boolean {
    const to = this.at + by;
    if (to < 0 || to > this.history.length) return false;
    if (this.at === this.history.length) this.draft = this.box.value;
    this.at = to;
    this.box.value = this.history[to] ?? this.draft;
    const caret = by < 0 ? 0 : this.box.value.length;
    this.box.setSelectionRange(caret, caret);
    this.grow();
    this.draw();
    return true;
  }

  private submit(): void {
    const text = this.box.value.trim();
    if (text === "" || !this.enabled) return;
    this.context.send({ kind: "send", text, context: this.going(text) });
    if (this.context.model.turnId !== null) this.context.model.queue(text);
    if (this.history.at(-1) !== text) this.history.push(text);
    this.history.splice(0, this.history.length - HISTORY);
    this.at = this.history.length;
    this.box.value = "";
    this.attachments = [];
    this.suggest.close();
    this.changed();
  }

  /** What was attached goes along while its word is still in the message. */
  private going(text: string): ContextItem[] {
    const words = new Map(this.attachments.map(({ word, context }) => [word, context]));
    return [...words].filter(([word]) => text.includes(`@${word}`)).map(([, context]) => context);
  }

  private attach(attachment: Attachment | null): void {
    if (attachment) this.attachments.push(attachment);
    this.changed();
  }

  private changed(): void {
    this.grow();
    this.draw();
    this.suggest.look();
    this.keep({ text: this.box.value, attachments: this.attachments, history: this.history });
  }

  private grow(): void {
    this.box.style.height = "auto";
    this.box.style.height = `${this.box.scrollHeight}px`;
  }
}

function needsSpace({ value, selectionStart }: HTMLTextAreaElement): boolean {
  return selectionStart > 0 && !/\s/.test(value.charAt(selectionStart - 1));
}
