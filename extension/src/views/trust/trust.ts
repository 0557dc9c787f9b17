/** Workspace trust: a calm notice for what a folder brings, and the page on which a person decides. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { sayFailure } from "../../commands";
import type { FolderTrust, TrustFile } from "../../protocol";
import type { Server } from "../../server";
import { inert } from "../../text";
import { trustHtml } from "./html";

const REVIEW = "Review";
const SEEN = "ensign.trust.noticed";

/** The server knows what is trusted; this keeps what the page shows, since only that can be trusted. */
export class Trust implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private shown: FolderTrust[] = [];
  /** Links of the page carry it; those of an earlier page do nothing. */
  private token = "";
  /** One look after the other: two at once would tell the same twice. */
  private looking: Promise<void> = Promise.resolve();
  /** Whether something was not told because its file is open before the person. */
  private held = false;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly memory: vscode.Memento,
    private readonly log: vscode.LogOutputChannel,
  ) {
    const look = (): void => {
      this.looking = this.looking.then(() => this.look()).catch((error: unknown) => sayFailure(this.log, error));
    };
    this.subscriptions = [
      server.onDidChangeState(({ kind }) => {
        if (kind === "ready") look();
      }),
      server.onChanged(({ what }) => {
        if (what === "trust") look();
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        if (this.held) look();
      }),
    ];
  }

  /** Show everything that the folders bring, as it is now. */
  async review(): Promise<void> {
    const { folders } = await this.server.request("ensign/trust/get", {});
    await this.remember(folders.flatMap(waiting));
    this.panel ??= this.makePanel();
    this.draw(folders);
    this.panel.reveal();
  }

  /** A click on the page. */
  async answer(answer: string, token: string): Promise<void> {
    if (token !== this.token || this.panel === undefined) return;
    const [verb = "", at = ""] = answer.split(" ");
    const folder = this.shown[Number(at)];
    if (verb === "later" || folder === undefined) {
      this.panel.dispose();
      return;
    }
    if (verb === "editor") return void vscode.commands.executeCommand("workbench.trust.manage");
    const hashes = Object.fromEntries(folder.files.map(({ path, hash }) => [path, hash]));
    const trusted = verb === "trust";
    const { folders } = await this.server.request("ensign/trust/set", {
      path: folder.path,
      trusted,
      hashes: trusted ? hashes : {},
    });
    // Whoever has just decided need not be told.
    await this.remember(folders.flatMap(waiting));
    this.draw(folders);
  }

  dispose(): void {
    this.panel?.dispose();
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private makePanel(): vscode.WebviewPanel {
    const panel = vscode.window.createWebviewPanel("ensign.trust", "Workspace Trust", vscode.ViewColumn.Active, {
      enableScripts: false,
      enableCommandUris: ["ensign.trust.answer"],
      localResourceRoots: [],
    });
    panel.onDidDispose(() => {
      this.panel = undefined;
      this.shown = [];
    });
    return panel;
  }

  private draw(folders: FolderTrust[]): void {
    if (this.panel === undefined) return;
    this.shown = folders;
    this.token = randomBytes(18).toString("hex");
    this.panel.webview.html = trustHtml(folders, this.token);
  }

  /** Tell of what has not been told yet; of a file that is open before the person, once it no longer is. */
  private async look(): Promise<void> {
    if (this.server.state.kind !== "ready") return;
    const { folders } = await this.server.request("ensign/trust/get", {});
    const seen = new Set(this.memory.get<string[]>(SEEN, []));
    const open = new Set(vscode.window.visibleTextEditors.map(({ document }) => document.uri.fsPath));
    const untold = folders
      .filter(({ notice }) => notice !== "")
      .flatMap(waiting)
      .filter((file) => !seen.has(mark(file)));
    this.held = untold.length > 0 && untold.every(({ path }) => open.has(path));
    if (untold.length === 0 || this.held) return;
    await this.remember(untold);
    const told = folders.filter((folder) => folder.files.some((file) => untold.includes(file)));
    void this.tell(told.map(({ notice }) => notice).join(". ")).catch((error: unknown) => sayFailure(this.log, error));
  }

  private async tell(notice: string): Promise<void> {
    const choice = await vscode.window.showInformationMessage(inert(`Ensign: ${notice}.`), REVIEW, "Not now");
    if (choice === REVIEW) await this.review();
  }

  private async remember(files: TrustFile[]): Promise<void> {
    const seen = new Set([...this.memory.get<string[]>(SEEN, []), ...files.map(mark)]);
    await this.memory.update(SEEN, [...seen]);
  }
}

function waiting(folder: FolderTrust): TrustFile[] {
  return folder.files.filter(({ trusted }) => !trusted);
}

function mark({ path, hash }: TrustFile): string {
  return `${path} ${hash}`;
}
