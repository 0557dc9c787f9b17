/** What the chat's page and its host say to each other. */
import type { ContextItem, EventNotification, Outcome, SessionOpened } from "../../protocol";

export interface Completion {
  /** What is put into the message, after the `@`. */
  insert: string;
  label: string;
  detail: string;
  icon: string;
  /** What goes along with the message while the word is in it. */
  context: ContextItem | null;
}

export interface Attachment {
  word: string;
  context: ContextItem;
}

export type ToPage =
  | { kind: "server"; state: "starting" | "ready" | "failed" | "stopped"; message: string }
  | { kind: "opened"; opened: SessionOpened; canBackground: boolean }
  | { kind: "events"; events: EventNotification[] }
  | { kind: "completions"; request: number; items: Completion[] }
  | { kind: "insert"; text: string; attachment: Attachment | null }
  | { kind: "rejected"; text: string };

export type PageCommand =
  "selectModel" | "selectMode" | "setApiKey" | "showLog" | "restart" | "ask" | "chat.new" | "chat.switch";

export type TaskAction = "stop" | "background" | "transcript" | "report";

export type ToHost =
  | { kind: "ready" }
  | { kind: "resync" }
  | { kind: "send"; text: string; context: ContextItem[] }
  | { kind: "cancel" }
  | { kind: "task"; ids: string[]; action: TaskAction }
  | { kind: "answer"; id: string; outcome: Outcome; message: string }
  | { kind: "diff"; id: string }
  | { kind: "open"; path: string; line: number | null; endLine: number | null }
  | { kind: "link"; href: string }
  | { kind: "complete"; request: number; query: string }
  | { kind: "copy"; text: string }
  | { kind: "insertCode"; text: string }
  | { kind: "command"; command: PageCommand };
