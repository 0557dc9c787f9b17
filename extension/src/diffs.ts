/** Proposed edits as diffs: both sides come from the open question, and are gone with it. */
import { basename } from "node:path";
import * as vscode from "vscode";
import type { ApprovalRequest, TaskRecord } from "./protocol";
import { inert } from "./text";

const SCHEME = "ensign-diff";

export class Diffs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly shown = new Map<string, string>();
  private readonly subscription: vscode.Disposable;

  constructor() {
    this.subscription = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.shown.delete(uri.toString())),
    );
  }

  async show({ id, diff, tag }: ApprovalRequest): Promise<void> {
    if (diff === null) return;
    const side = (name: "before" | "after"): vscode.Uri => {
      const uri = vscode.Uri.file(diff.path).with({ scheme: SCHEME, query: `${name}&${id}` });
      this.shown.set(uri.toString(), diff[name]);
      return uri;
    };
    await vscode.commands.executeCommand("vscode.diff", side("before"), side("after"), proposedTitle(diff.path, tag));
  }

  /** Show a file as it is, beside what it held before a task. */
  async beside(file: vscode.Uri, before: string, task: TaskRecord): Promise<void> {
    const left = file.with({ scheme: SCHEME, query: `before&${task.id}` });
    this.shown.set(left.toString(), before);
    const title = `${basename(file.path)} (before ${task.agent} ↔ now)`;
    // A file that is gone since has an empty right side, instead of an editor that cannot open.
    const there = await vscode.workspace.fs.stat(file).then(
      () => true,
      () => false,
    );
    const right = there ? file : file.with({ scheme: SCHEME, query: `gone&${task.id}` });
    await vscode.commands.executeCommand("vscode.diff", left, right, inert(title));
  }

  /** Close the diffs of questions that are answered. */
  async close(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const answered = tabs.filter(
      ({ input }) =>
        input instanceof vscode.TabInputTextDiff &&
        input.modified.scheme === SCHEME &&
        ids.some((id) => input.modified.query.endsWith(`&${id}`)),
    );
    if (answered.length > 0) await vscode.window.tabGroups.close(answered, true);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.shown.get(uri.toString()) ?? "";
  }

  dispose(): void {
    this.subscription.dispose();
  }
}

/** `main.py (general-purpose proposes)`: which file, and on whose behalf. */
function proposedTitle(path: string, tag: string): string {
  const [agent = tag] = tag.split(" · ");
  return inert(`${basename(path)} (${agent} proposes)`);
}
