/** Buttons at code blocks. */
import type { ToHost } from "../messages";
import { h, iconButton } from "./dom";

export function addCodeButtons(root: HTMLElement, send: (message: ToHost) => void): void {
  for (const pre of root.querySelectorAll("pre")) {
    const text = pre.textContent;
    const copy = iconButton("copy", "Copy", () => send({ kind: "copy", text }));
    const insert = iconButton("insert", "Insert at cursor", () => send({ kind: "insertCode", text }));
    const frame = h("div", { class: "code" });
    pre.replaceWith(frame);
    pre.tabIndex = 0;
    frame.append(pre, h("div", { class: "code-buttons" }, copy, insert));
  }
}
