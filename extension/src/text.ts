/** Words and figures as people read them; used by the host and the chat's page alike. */
import type { ApprovalRequest, Outcome, TaskRecord, TaskState, Usage } from "./protocol";

export const TERMINAL: ReadonlySet<TaskState> = new Set(["completed", "partial", "failed", "stopped", "interrupted"]);

const QUIET_S = 30;

export const OUTCOME_LABELS: Readonly<Record<Outcome, string>> = {
  allow_once: "Allow once",
  allow_task: "For this task",
  allow_session: "For this session",
  allow_always: "Always…",
  deny: "Deny",
};

export const MODE_LABELS: Readonly<Record<string, string>> = {
  default: "Ask first",
  acceptEdits: "Accept edits",
  plan: "Plan only",
  bypassPermissions: "Bypass",
};

/** `950`, `12k`, `3.4M`. */
export function count(value: number): string {
  if (value < 1000) return String(Math.round(value));
  if (value < 999_500) return `${trimmed(value / 1000)}k`;
  return `${trimmed(value / 1_000_000)}M`;
}

function trimmed(value: number): string {
  return value < 10 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}

/** `8 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return joined(minutes, "min", whole % 60, "s");
  return joined(Math.floor(minutes / 60), "h", minutes % 60, "min");
}

function joined(big: number, bigUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${big} ${bigUnit}` : `${big} ${bigUnit} ${small} ${smallUnit}`;
}

/** `1 tool call`, `2 tool calls`. */
export function plural(value: number, noun: string): string {
  return `${value} ${noun}${value === 1 ? "" : "s"}`;
}

export function tokens(usage: Usage): number {
  return usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
}

export function elapsed(task: TaskRecord, now: number): number {
  return (task.endedAt ?? now) - (task.startedAt ?? task.createdAt);
}

/** What a task does now, or how it ended, in one line. */
export function taskLine(task: TaskRecord, now: number): string {
  switch (task.state) {
    case "queued":
      return "queued";
    case "waiting":
      return task.waitingFor ? `waiting for you: ${task.waitingFor}` : "waiting for you";
    case "stopping":
      return "stopping…";
    case "running": {
      const quiet = now - task.lastEventAt;
      const activity = task.summary || task.activity || "starting";
      return quiet >= QUIET_S ? `${activity} · quiet for ${duration(quiet)}` : activity;
    }
    case "completed":
    case "partial":
    case "failed":
    case "stopped":
    case "interrupted":
      return ended(task);
    default:
      return never(task.state);
  }
}

function ended(task: TaskRecord): string {
  // "stopped by a person" has said that it is stopped.
  const parts = task.reason.startsWith(task.state) ? [task.reason] : [task.state, task.reason].filter(Boolean);
  if (task.filesChanged.length > 0) parts.push(`${plural(task.filesChanged.length, "file")} changed`);
  return parts.join(" · ");
}

/** What people call a task. */
export function taskTitle(task: TaskRecord): string {
  return task.description || task.name || task.agent;
}

/** `[name · task]`, however the tag is spelled. */
export function bracketed(tag: string): string {
  return tag.startsWith("[") ? tag : `[${tag}]`;
}

const TOAST_CHARS = 280;
const PICK_CHARS = 72;

/** Whether a notification, which cuts long text and joins lines, still shows all that would happen. */
export function fitsToast(request: ApprovalRequest): boolean {
  return request.detail.length <= TOAST_CHARS && !/[\r\n]/.test(request.detail.trim());
}

/** Whether the box of a list, which cuts at its width, still shows all that would happen. */
export function fitsPick(request: ApprovalRequest): boolean {
  return fitsToast(request) && request.detail.trim().length <= PICK_CHARS;
}

/** The text of a notification. It is plain: a link or an icon written by a model must not become one. */
export function toastText(request: ApprovalRequest): string {
  const head = `${bracketed(request.tag)} ${request.title}`;
  const detail = request.detail.trim();
  // The answers to an agent's own question stand on the buttons.
  if (request.choices.length > 0) return inert(head);
  if (!fitsToast(request))
    return inert(`${head} (${plural(detail.split("\n").length, "line")}, review before answering)`);
  return inert(detail === "" || request.title.includes(detail) ? head : `${head}: ${detail}`);
}

/** Break `[label](target)` links and `$(icon)` references, which the workbench would render. */
export function inert(text: string): string {
  return text.replaceAll("](", "] (").replaceAll("$(", "$ (");
}

/** Spell out what cannot be seen, or would turn around what follows it: names and words that a folder brings. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, (one) => {
    const code = (one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    return `⟨U+${code}⟩`;
  });
}

/** Ends a `switch` over a closed union: a new member is a type error here. */
export function never(value: never): never {
  throw new Error(`unexpected ${JSON.stringify(value)}`);
}

/** How many tasks do what. */
export interface Counts {
  readonly running: number;
  readonly queued: number;
  readonly waiting: number;
}

/** The counts that are not nought, in words: `8 running, 42 queued`. */
export function countsInWords({ running, queued, waiting }: Counts): string {
  const parts: string[] = [];
  if (running > 0) parts.push(`${running} running`);
  if (queued > 0) parts.push(`${queued} queued`);
  if (waiting > 0) parts.push(`${waiting} waiting for you`);
  return parts.join(", ");
}
