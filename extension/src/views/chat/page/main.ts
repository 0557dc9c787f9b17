/** The chat's page: messages in, pictures out, at most one drawing a frame. */
import { never, plural } from "../../../text";
import type { ToHost, ToPage } from "../messages";
import { ApprovalsView } from "./approvalsView";
import { Composer, type Draft } from "./composer";
import type { PageContext } from "./context";
import { h } from "./dom";
import { Frame } from "./frame";
import { Markdown } from "./markdown";
import { ChatModel } from "./model";
import { Transcript } from "./transcript";

interface VsCode {
  postMessage(message: ToHost): void;
  getState(): Draft | undefined;
  setState(state: Draft): void;
}

declare function acquireVsCodeApi(): VsCode;

const TICK_MS = 1_000;

class Page {
  private readonly vscode = acquireVsCodeApi();
  private readonly model = new ChatModel();
  private readonly live = h("div", { class: "sr-only", "aria-live": "polite" });
  private readonly context: PageContext;
  private readonly transcript: Transcript;
  private readonly approvals: ApprovalsView;
  private readonly composer: Composer;
  private readonly frame: Frame;
  private background = false;
  private drawing = false;
  /** No frame before this time: the last one took long, and typing must not wait. */
  private notBefore = 0;
  private resyncing = false;

  constructor(app: HTMLElement) {
    this.context = {
      model: this.model,
      markdown: new Markdown(window),
      send: (message) => {
        // Whoever says something wants to see it, and the answer.
        if (message.kind === "send") this.transcript.scrollToEnd();
        this.vscode.postMessage(message);
      },
      announce: (text) => (this.live.textContent = text),
      canBackground: () => this.background,
    };
    const keep = (draft: Draft): void => this.vscode.setState(draft);
    this.transcript = new Transcript(this.context);
    this.approvals = new ApprovalsView(this.context);
    this.composer = new Composer(this.context, this.vscode.getState(), keep);
    this.frame = new Frame(this.context, (text) => this.context.send({ kind: "send", text, context: [] }));
    this.transcript.element.prepend(this.frame.empty);
    app.append(
      this.frame.banner,
      this.transcript.element,
      this.frame.below,
      this.approvals.element,
      this.composer.element,
      this.live,
    );
    window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => this.heard(data));
    window.addEventListener("focus", () => {
      if (document.activeElement === document.body) this.composer.focus();
    });
    window.addEventListener("keydown", (event) => this.keyed(event));
    setInterval(() => this.transcript.tick(), TICK_MS);
    this.composer.enable(false);
    this.context.send({ kind: "ready" });
  }

  private heard(message: ToPage): void {
    switch (message.kind) {
      case "server":
        this.frame.serverIs(message);
        this.composer.enable(message.state === "ready");
        break;
      case "opened":
        this.resyncing = false;
        this.background = message.canBackground;
        this.model.reset(message.opened);
        this.drawSoon();
        break;
      case "events":
        this.events(message.events);
        break;
      case "completions":
        this.composer.suggest.show(message.request, message.items);
        break;
      case "insert":
        this.composer.insert(message.text, message.attachment);
        break;
      case "rejected":
        this.composer.restore(message.text);
        break;
      default:
        never(message);
    }
  }

  private events(events: Extract<ToPage, { kind: "events" }>["events"]): void {
    for (const notification of events) {
      const known = this.model.apply(notification);
      if (!known && !this.resyncing) {
        this.resyncing = true;
        this.context.send({ kind: "resync" });
      }
      this.speak(notification.event);
    }
    this.drawSoon();
  }

  private speak(event: Extract<ToPage, { kind: "events" }>["events"][number]["event"]): void {
    if (event.taskId !== null) return;
    if (event.kind === "message_added" && event.message.kind === "assistant") {
      const said = event.message.parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
      if (said.length > 0) this.context.announce(said.join(" "));
    }
    if (event.kind === "turn_failed") this.context.announce(event.message);
  }

  private drawSoon(): void {
    if (this.drawing) return;
    this.drawing = true;
    const wait = this.notBefore - performance.now();
    if (wait > 0) setTimeout(() => requestAnimationFrame(() => this.draw()), wait);
    else requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.drawing = false;
    const started = performance.now();
    const changes = this.model.taken();
    this.transcript.draw(changes);
    if (changes.frame || changes.all) {
      this.approvals.draw();
      this.composer.draw();
      this.frame.draw();
    }
    if (changes.all) this.transcript.scrollToEnd();
    const took = performance.now() - started;
    this.notBefore = took > 8 ? performance.now() + took * 3 : 0;
  }

  /** Esc counts wherever the focus is, but where it closes something smaller first. */
  private keyed(event: KeyboardEvent): void {
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
    if (event.target instanceof Element && event.target.closest(".approval")) this.composer.focus();
    else this.escaped();
  }

  /** Esc first frees the chat from what runs in front of it, then ends the turn. */
  private escaped(): void {
    const ids = this.background ? this.model.foreground().map(({ id }) => id) : [];
    if (ids.length > 0) {
      this.context.send({ kind: "task", ids, action: "background" });
      const words = `Moved ${plural(ids.length, "subagent")} to the background. Escape again stops the turn.`;
      this.model.note(words);
      this.context.announce(words);
      this.drawSoon();
    } else if (this.model.turnId !== null) {
      this.context.send({ kind: "cancel" });
    }
  }
}

const app = document.getElementById("app");
if (app !== null) new Page(app);
