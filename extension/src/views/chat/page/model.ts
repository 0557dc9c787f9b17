/** The state of the chat: rebuilt from a snapshot at any time, moved on by events without gaps. */
import type {
  ApprovalRequest,
  AssistantMessage,
  Event,
  EventNotification,
  Mode,
  SessionOpened,
  TaskRecord,
  Todo,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "../../../protocol";
import { count, tokens } from "../../../text";
import { type ProseRow, type Row, type ToolRow, splitContext } from "./rows";

/** What the page has to draw anew. */
export interface Changes {
  /** Everything: another chat, or the same one from its snapshot. */
  all: boolean;
  rows: Set<string>;
  tasks: Set<string>;
  /** What stands around the rows: questions, to-dos, queue, figures. */
  frame: boolean;
}

export class ChatModel {
  rows: Row[] = [];
  readonly tasks = new Map<string, TaskRecord>();
  approvals: ApprovalRequest[] = [];
  todos: readonly Todo[] = [];
  queued: string[] = [];
  turnId: string | null = null;
  tokens = 0;
  mode: Mode = "default";
  model = "";
  changes: Changes = { all: true, rows: new Set(), tasks: new Set(), frame: true };

  private seq = -1;
  private sessionId = "";
  private serial = 0;
  /** Rows of the step that is being said, in order. */
  private live: ProseRow[] = [];
  private readonly tools = new Map<string, ToolRow>();
  /** Events that came after a gap, until the snapshot is here. */
  private waiting: EventNotification[] = [];

  /** Take over a snapshot, and what happened since. */
  reset({ sessionId, snapshot, seq }: SessionOpened): void {
    this.rows = [];
    this.live = [];
    this.tools.clear();
    this.tasks.clear();
    this.sessionId = sessionId;
    this.seq = seq;
    this.approvals = [...snapshot.approvals];
    this.todos = snapshot.todos;
    this.tokens = tokens(snapshot.usage);
    this.mode = snapshot.mode;
    this.model = snapshot.model;
    for (const { message, event } of snapshot.entries) {
      if (message !== null) this.add(message);
      if (event !== null) this.hear(event, true);
    }
    // What is past has moved these; the snapshot says where they are now.
    this.turnId = snapshot.turnId;
    this.queued = snapshot.queued.map((text) => splitContext(text).text);
    for (const task of snapshot.tasks) this.tasks.set(task.id, task);
    this.assign();
    const subagents = new Set(snapshot.tasks.map(({ agentId }) => agentId));
    for (const { agentId, text, thinking } of snapshot.partial) {
      if (subagents.has(agentId)) continue;
      if (thinking) this.say("thinking", thinking);
      if (text) this.say("text", text);
    }
    this.changes = { all: true, rows: new Set(), tasks: new Set(), frame: true };
    const waiting = this.waiting;
    this.waiting = [];
    for (const event of waiting) this.apply(event);
  }

  /** Take an event. False when events are missing: ask for the snapshot. */
  apply(notification: EventNotification): boolean {
    const { sessionId, seq, event } = notification;
    if (sessionId !== this.sessionId || seq <= this.seq) return true;
    if (seq !== this.seq + 1) {
      this.waiting.push(notification);
      return false;
    }
    this.seq = seq;
    this.hear(event, false);
    return true;
  }

  /** Remember a message that waits for the running turn to end. */
  queue(text: string): void {
    this.queued.push(text);
    this.changes.frame = true;
  }

  /** Say something of the page's own; it is not part of the conversation. */
  note(text: string): void {
    this.push({ kind: "notice", key: this.key(), level: "info", text });
  }

  /** Return what changed since the last time. */
  taken(): Changes {
    const changes = this.changes;
    this.changes = { all: false, rows: new Set(), tasks: new Set(), frame: false };
    return changes;
  }

  /** Unfinished tasks of the main agent's own turn: these are what Esc moves to the background. */
  foreground(): TaskRecord[] {
    const live = ["queued", "running", "waiting"];
    return [...this.tasks.values()].filter(
      ({ state, background, parentTaskId, parentAgentId }) =>
        !background && parentTaskId === null && parentAgentId !== null && live.includes(state),
    );
  }

  children(taskId: string): TaskRecord[] {
    return [...this.tasks.values()].filter(({ parentTaskId }) => parentTaskId === taskId);
  }

  private hear(event: Event, replayed: boolean): void {
    if (event.kind === "task_changed") return this.task(event.record);
    if (event.kind === "approval_requested" || event.kind === "approval_resolved") return this.approval(event);
    if (event.kind === "usage_reported") {
      if (!replayed) this.tokens += tokens(event.usage);
      this.changes.frame = true;
      return;
    }
    if (event.taskId === null) this.hearMain(event);
  }

  /** An event of the main agent. */
  private hearMain(
    event: Exclude<Event, { kind: "task_changed" | "approval_requested" | "approval_resolved" | "usage_reported" }>,
  ): void {
    switch (event.kind) {
      case "turn_started":
        this.turnId = event.turnId;
        this.changes.frame = true;
        break;
      case "step_started":
        this.live = [];
        break;
      case "step_restarted":
        this.dropLive();
        break;
      case "text_delta":
        this.say("text", event.text);
        break;
      case "thinking_delta":
        this.say("thinking", event.text);
        break;
      case "message_added":
        this.add(event.message);
        break;
      case "tool_started":
        this.change(this.tool(event.call), { state: "running", activity: event.activity });
        this.assign();
        break;
      case "tool_progress":
        this.change(this.tools.get(event.callId), { progress: event.text });
        break;
      case "tool_finished":
        this.finish(event);
        break;
      case "todo_changed":
        this.todos = event.todos;
        this.changes.frame = true;
        break;
      case "compacted": {
        const figures = `${count(event.beforeTokens)} to ${count(event.afterTokens)} tokens`;
        this.push({
          kind: "notice",
          key: this.key(),
          level: "info",
          text: `The conversation was shortened: ${figures}`,
        });
        break;
      }
      case "notice":
        this.push({ kind: "notice", key: this.key(), level: event.level, text: event.text });
        break;
      case "turn_ended":
      case "turn_failed":
        this.ended(event);
        break;
      case "run_ended":
        break;
      default:
        event satisfies never;
    }
  }

  private ended(event: Extract<Event, { kind: "turn_ended" | "turn_failed" }>): void {
    this.settle();
    this.turnId = null;
    this.changes.frame = true;
    if (event.kind === "turn_failed") {
      this.push({ kind: "failed", key: this.key(), message: event.message });
    } else if (event.stop !== "end_turn") {
      this.push({ kind: "end", key: this.key(), stop: event.stop, reason: event.reason });
    }
  }

  private add(message: UserMessage | AssistantMessage | ToolMessage): void {
    switch (message.kind) {
      case "user":
        this.addUser(message.text, message.origin === "runtime");
        break;
      case "assistant":
        this.addAssistant(message);
        break;
      case "tool":
        for (const { callId, text, isError } of message.results) {
          const row = this.tools.get(callId);
          if (row === undefined) continue;
          const open = row.state === "pending" || row.state === "running";
          this.change(row, open ? { output: text, state: isError ? "failed" : "done" } : { output: text });
        }
        break;
      default:
        message satisfies never;
    }
  }

  private addUser(whole: string, news: boolean): void {
    this.settle();
    this.changes.frame = true;
    if (news) {
      this.push({ kind: "news", key: this.key(), text: whole });
      return;
    }
    const { text, places } = splitContext(whole);
    const waited = this.queued.indexOf(text);
    if (waited >= 0) this.queued.splice(waited, 1);
    this.push({ kind: "user", key: this.key(), text, places });
  }

  /** The message takes the place of its deltas, row by row, so that nothing jumps. */
  private addAssistant({ parts }: AssistantMessage): void {
    const said = this.live;
    this.live = [];
    for (const part of parts) {
      if (part.kind === "tool_call") {
        this.tool(part);
        continue;
      }
      if (part.text === "") continue;
      const index = said.findIndex(({ kind }) => kind === part.kind);
      const row = index < 0 ? undefined : said.splice(index, 1)[0];
      if (row === undefined) this.push({ kind: part.kind, key: this.key(), text: part.text, streaming: false });
      else this.change(row, { text: part.text, streaming: false });
    }
    this.remove(said);
    this.assign();
  }

  private say(kind: ProseRow["kind"], text: string): void {
    const last = this.live.at(-1);
    if (last?.kind === kind) {
      this.change(last, { text: last.text + text });
      return;
    }
    if (last !== undefined) this.change(last, { streaming: false });
    const row: ProseRow = { kind, key: this.key(), text, streaming: true };
    this.live.push(row);
    this.push(row);
  }

  /** What is being said stays as it is: the turn broke off or another message came. */
  private settle(): void {
    for (const row of this.live) this.change(row, { streaming: false });
    this.live = [];
  }

  private dropLive(): void {
    this.remove(this.live);
    this.live = [];
  }

  private tool(call: ToolCall): ToolRow {
    const known = this.tools.get(call.callId);
    if (known !== undefined) return known;
    const row: ToolRow = {
      kind: "tool",
      key: this.key(),
      call,
      state: "pending",
      activity: "",
      progress: "",
      output: "",
      diff: null,
      deniedBy: null,
      taskId: null,
    };
    this.tools.set(call.callId, row);
    this.push(row);
    return row;
  }

  private finish(event: Extract<Event, { kind: "tool_finished" }>): void {
    const state = event.deniedBy !== null ? "denied" : event.isError ? "failed" : "done";
    const { text: output, diff, deniedBy } = event;
    this.change(this.tools.get(event.callId), { state, output, diff, deniedBy });
  }

  private approval(event: Extract<Event, { kind: "approval_requested" | "approval_resolved" }>): void {
    const id = event.kind === "approval_requested" ? event.request.id : event.approvalId;
    this.approvals = this.approvals.filter((request) => request.id !== id);
    if (event.kind === "approval_requested") this.approvals.push(event.request);
    this.changes.frame = true;
  }

  private task(record: TaskRecord): void {
    const known = this.tasks.has(record.id);
    this.tasks.set(record.id, record);
    // A nested subagent is drawn in the card of the one above it.
    for (let id: string | null = record.id; id !== null; id = this.tasks.get(id)?.parentTaskId ?? null) {
      this.changes.tasks.add(id);
    }
    this.changes.frame = true;
    if (!known) this.assign();
  }

  /** Join each subagent with the call that started it; one that a person started has a row of its own. */
  private assign(): void {
    const shown = new Set(this.rows.flatMap((row) => ("taskId" in row && row.taskId !== null ? [row.taskId] : [])));
    for (const task of this.tasks.values()) {
      if (task.parentTaskId !== null || shown.has(task.id)) continue;
      const call = task.callId === null ? undefined : this.tools.get(task.callId);
      if (call !== undefined) this.change(call, { taskId: task.id });
      else if (task.callId === null) this.push({ kind: "task", key: this.key(), taskId: task.id });
    }
  }

  private push(row: Row): void {
    this.rows.push(row);
    this.changes.rows.add(row.key);
  }

  private change<R extends Row>(row: R | undefined, change: Partial<R>): void {
    if (row === undefined) return;
    Object.assign(row, change);
    this.changes.rows.add(row.key);
  }

  private remove(rows: readonly Row[]): void {
    if (rows.length === 0) return;
    const gone = new Set(rows.map(({ key }) => key));
    this.rows = this.rows.filter(({ key }) => !gone.has(key));
    for (const key of gone) this.changes.rows.add(key);
  }

  private key(): string {
    return `r${this.serial++}`;
  }
}
