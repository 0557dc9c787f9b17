/** What a task did to files: each beside its state before, and all of it taken back. */
import * as vscode from "vscode";
import type { Diffs } from "./diffs";
import type { FileChange, TaskRecord } from "./protocol";
import type { Server } from "./server";
import { inert, plural, taskTitle } from "./text";

const UNDO = "Undo changes";

/** Open a changed file beside what it held before the task; what is on the right can be edited. */
export async function showChange(server: Server, diffs: Diffs, task: TaskRecord, file: FileChange): Promise<void> {
  const uri = vscode.Uri.file(file.path);
  const before = await server.request("ensign/task/before", { id: task.id, path: file.path }).catch(() => undefined);
  // What commands changed, and tasks of an older version, have no state before.
  if (before === undefined) await vscode.commands.executeCommand("vscode.open", uri);
  else await diffs.beside(uri, before.text ?? "", task);
}

/** Undo after a question, and say what was left and why. */
export async function undoTask(server: Server, task: TaskRecord): Promise<void> {
  const files = plural(task.filesChanged.length, "file");
  const chosen = await vscode.window.showWarningMessage(
    `Undo what ${inert(taskTitle(task))} did to ${files}?`,
    { modal: true, detail: "Files that somebody changed since stay as they are. What its commands did is not undone." },
    UNDO,
  );
  if (chosen !== UNDO) return;
  const { undone, refused } = await server.request("ensign/task/undo", { id: task.id });
  const done = undone.length === 0 ? "nothing was undone" : `${plural(undone.length, "file")} put back`;
  if (refused.length === 0) {
    void vscode.window.showInformationMessage(`Ensign: ${done}`);
    return;
  }
  const reasons = refused.map(({ reason }) => inert(reason)).join("; ");
  void vscode.window.showWarningMessage(`Ensign: ${done}, ${plural(refused.length, "file")} left: ${reasons}`);
}
