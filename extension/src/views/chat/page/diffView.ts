/** A unified diff in colour. */
import { h } from "./dom";

const MAX_LINES = 2000;

export function diffView(diff: string): HTMLElement {
  const lines = diff.replace(/\n$/, "").split("\n");
  const shown = lines.slice(0, MAX_LINES).map((line) => h("span", { class: `diff-line ${look(line)}` }, `${line}\n`));
  const rest = lines.length - shown.length;
  return h(
    "pre",
    { class: "diff", tabindex: 0, "aria-label": "Changes" },
    ...shown,
    rest > 0 && `… ${rest} more lines`,
  );
}

function look(line: string): string {
  if (line.startsWith("+++") || line.startsWith("---")) return "diff-file";
  if (line.startsWith("@@")) return "diff-hunk";
  if (line.startsWith("+")) return "diff-added";
  return line.startsWith("-") ? "diff-removed" : "";
}
