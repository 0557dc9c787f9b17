/** What a person does with the worktree of a task: look at it, merge it, throw it away. */
import * as vscode from "vscode";
import type { TaskRecord, Worktree } from "./protocol";
import type { Server } from "./server";
import { plural, taskTitle } from "./text";

const THERE: ReadonlySet<Worktree["state"]> = new Set(["live", "kept", "conflict"]);

/** Whether a task's worktree is on disk. */
export function hasWorktree(task: TaskRecord): boolean {
  return task.worktree !== null && THERE.has(task.worktree.state);
}

/** What a row says of a task's worktree; empty when there is nothing to say any more. */
export function worktreeWords({ worktree }: TaskRecord): string {
  if (worktree === null || worktree.state === "live") return "";
  const stat = `${plural(worktree.files, "file")} +${worktree.added} -${worktree.removed}`;
  switch (worktree.state) {
    case "kept":
      return `${worktree.branch}: ${stat}`;
    case "conflict":
      return `${worktree.branch}: solve the conflict, commit, and merge again`;
    case "merged":
    case "discarded":
      return `${worktree.branch} ${worktree.state}`;
    case "removed":
      return "";
    default:
      return worktree.state satisfies never;
  }
}

/** Merge into the main checkout; where that left conflicts, show them. */
export async function mergeWorktree(server: Server, task: TaskRecord): Promise<void> {
  const { worktree, conflicts } = await server.request("ensign/worktree/merge", { id: task.id });
  for (const path of conflicts) {
    await vscode.window.showTextDocument(vscode.Uri.file(path), { preview: false });
  }
  if (conflicts.length > 0) {
    void vscode.window.showWarningMessage(
      `Ensign: ${plural(conflicts.length, "file")} of ${worktree.branch} conflict. Solve and commit them, then choose Merge again.`,
    );
  } else if (worktree.state === "kept") {
    void vscode.window.showWarningMessage(`Ensign: ${worktree.branch} is kept: ${worktree.reason}.`);
  } else {
    void vscode.window.showInformationMessage(`Ensign: ${worktree.branch} is merged.`);
  }
}

/** Throw it away, once the person has said so; the work can be had again for a while. */
export async function discardWorktree(server: Server, task: TaskRecord): Promise<void> {
  if (task.worktree === null) return;
  const discard = "Discard";
  const detail = `${worktreeWords(task)}. The worktree and its branch are deleted.`;
  const answer = await vscode.window.showWarningMessage(
    `Discard the changes of "${taskTitle(task)}"?`,
    { modal: true, detail },
    discard,
  );
  if (answer !== discard) return;
  const { worktree, commit } = await server.request("ensign/worktree/discard", { id: task.id });
  const back =
    commit === "" ? "" : ` For some weeks "git branch ${worktree.branch} ${commit.slice(0, 12)}" brings it back.`;
  void vscode.window.showInformationMessage(`Ensign: ${worktree.branch} is discarded.${back}`);
}

/** Open it in a window of its own. */
export async function openWorktree(task: TaskRecord): Promise<void> {
  if (task.worktree === null) return;
  await vscode.commands.executeCommand("vscode.openFolder", vscode.Uri.file(task.worktree.path), {
    forceNewWindow: true,
  });
}

/** Where a file of a task is now: that of a worktree which is gone is in the main checkout, if anywhere. */
export function placeOf(task: TaskRecord, path: string): string {
  const { worktree } = task;
  if (worktree === null || hasWorktree(task) || !path.startsWith(`${worktree.path}/`)) return path;
  return worktree.main + path.slice(worktree.path.length);
}

/** How a changed file is opened: against the main checkout's, where it lies in a worktree that is there. */
export function reviewOf(task: TaskRecord, path: string): vscode.Command | undefined {
  const { worktree } = task;
  if (worktree === null || !hasWorktree(task) || !path.startsWith(`${worktree.path}/`)) return undefined;
  const inner = path.slice(worktree.path.length + 1);
  const sides = [vscode.Uri.file(`${worktree.main}/${inner}`), vscode.Uri.file(path)];
  return {
    command: "vscode.diff",
    title: "Review",
    arguments: [...sides, `${inner} (main checkout ↔ ${worktree.branch})`],
  };
}
