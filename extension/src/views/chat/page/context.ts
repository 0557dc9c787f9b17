/** What the parts of the page share. */
import type { ToHost } from "../messages";
import type { Markdown } from "./markdown";
import type { ChatModel } from "./model";

export interface PageContext {
  model: ChatModel;
  markdown: Markdown;
  send: (message: ToHost) => void;
  /** Say something to a screen reader. */
  announce: (text: string) => void;
  canBackground: () => boolean;
}

export function now(): number {
  return Date.now() / 1000;
}
