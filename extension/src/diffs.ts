/** Proposed edits as diffs: both sides come from the open question, and are gone with it. */
import * as vscode from "vscode";
import type { ApprovalRequest } from "./protocol";

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

  async show({ id, diff, title }: ApprovalRequest): Promise<void> {
    if (diff === null) return;
    const side = (name: "before" | "after"): vscode.Uri => {
      const uri = vscode.Uri.file(diff.path).with({ scheme: SCHEME, query: `${name}&${id}` });
      this.shown.set(uri.toString(), diff[name]);
      return uri;
    };
    await vscode.commands.executeCommand("vscode.diff", side("before"), side("after"), `${title} (proposed)`);
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
