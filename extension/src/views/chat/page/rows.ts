/** The rows of a conversation, as the page shows them. */
import type { StopReason, ToolCall } from "../../../protocol";

export interface UserRow {
  kind: "user";
  key: string;
  text: string;
  /** What went along: `path` or `path:line`. */
  places: string[];
}

/** A block that the runtime put into the conversation: news of a background task. */
export interface NewsRow {
  kind: "news";
  key: string;
  text: string;
}

export interface ProseRow {
  kind: "text" | "thinking";
  key: string;
  text: string;
  streaming: boolean;
}

export type ToolState = "pending" | "running" | "done" | "failed" | "denied";

export interface ToolRow {
  kind: "tool";
  key: string;
  call: ToolCall;
  state: ToolState;
  activity: string;
  progress: string;
  output: string;
  diff: string | null;
  deniedBy: string | null;
  /** The subagent that this call started. */
  taskId: string | null;
}

/** A subagent that a person started. */
export interface TaskRow {
  kind: "task";
  key: string;
  taskId: string;
}

export interface NoticeRow {
  kind: "notice";
  key: string;
  level: "info" | "warning" | "error";
  text: string;
}

export interface FailedRow {
  kind: "failed";
  key: string;
  message: string;
}

export interface EndRow {
  kind: "end";
  key: string;
  stop: Exclude<StopReason, "end_turn">;
  reason: string;
}

export type Row = UserRow | NewsRow | ProseRow | ToolRow | TaskRow | NoticeRow | FailedRow | EndRow;

const ARGUMENTS = ["command", "file_path", "pattern", "description", "url", "query", "path"] as const;

/** What a call does, in the server's words while it runs; then its name and main argument, as after a reload. */
export function toolTitle({ activity, call, state }: ToolRow): string {
  if (activity && state === "running") return activity;
  for (const name of ARGUMENTS) {
    const value = call.arguments?.[name];
    if (typeof value === "string" && value) return `${call.name} ${value}`;
  }
  return call.name;
}

const CONTEXT = /\n\n<context>\n([\s\S]*)\n<\/context>$/;

/** Take a message apart into what the person wrote and the places that went along. */
export function splitContext(whole: string): { text: string; places: string[] } {
  const match = CONTEXT.exec(whole);
  if (match === null) return { text: whole, places: [] };
  const lines = (match[1] ?? "").replace(/^(`{3,})\n[\s\S]*?\n\1$/gm, "").split("\n");
  const places = lines.flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : []));
  return { text: whole.slice(0, match.index), places };
}
