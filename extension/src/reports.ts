/** Reports and transcripts as read-only Markdown documents with links; they survive a reload of the window. */
import * as vscode from "vscode";
import { pathLinks } from "./links";
import type { FileChange, TaskRecord } from "./protocol";
import type { Server } from "./server";
import { TERMINAL, count, duration, elapsed, plural, taskTitle, tokens } from "./text";

export const REPORT_SCHEME = "ensign-report";

type Kind = "report" | "transcript" | "text";

export class Reports implements vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  /** Texts that come from no task, for as long as they are open. */
  private readonly texts = new Map<string, string>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.subscriptions = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(REPORT_SCHEME, this),
      vscode.languages.registerDocumentLinkProvider({ scheme: REPORT_SCHEME, language: "markdown" }, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
      server.onDidChangeState(({ kind }) => {
        if (kind === "ready") this.refreshOpen(() => true);
      }),
      server.onEvent(({ event }) => {
        if (event.kind === "task_changed") this.refreshOpen((id, of) => of === "report" && id === event.record.id);
      }),
    ];
  }

  /** Open a task's report, or its transcript, beside the active editor. */
  async open(kind: "report" | "transcript", task: TaskRecord): Promise<void> {
    const uri = reportUri(kind, taskTitle(task), task.id);
    this.changed.fire(uri);
    await show(uri, kind === "report" || vscode.window.activeTextEditor !== undefined);
  }

  /** Show a text of ours, such as the doctor's findings or a long command line. */
  async openText(title: string, text: string): Promise<void> {
    const uri = reportUri("text", title, "");
    this.texts.set(uri.toString(), text);
    this.changed.fire(uri);
    await show(uri, vscode.window.activeTextEditor !== undefined);
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const query = new URLSearchParams(uri.query);
    const id = query.get("task") ?? "";
    const text = this.texts.get(uri.toString());
    if (text !== undefined) return text;
    if (!id) return "This text is gone; open it again from where it came.\n";
    if (this.server.state.kind !== "ready") return "Waiting for the Ensign server…\n";
    try {
      if (query.get("kind") === "transcript")
        return (await this.server.request("ensign/task/transcript", { id })).markdown;
      return reportText(await this.server.request("ensign/task/get", { id }));
    } catch (error) {
      return `This task can no longer be read: ${error instanceof Error ? error.message : String(error)}\n`;
    }
  }

  async provideDocumentLinks(document: vscode.TextDocument): Promise<vscode.DocumentLink[]> {
    const files = new Map<string, Promise<vscode.Uri | undefined>>();
    const links = pathLinks(document.getText()).map(async ({ start, end, path, line }) => {
      const found = files.get(path) ?? findFile(path);
      files.set(path, found);
      const file = await found;
      const range = new vscode.Range(document.positionAt(start), document.positionAt(end));
      return file && new vscode.DocumentLink(range, file.with({ fragment: `L${line}` }));
    });
    return (await Promise.all(links)).filter((link) => link !== undefined);
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private refreshOpen(wanted: (task: string | null, kind: string | null) => boolean): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      const query = new URLSearchParams(uri.query);
      if (uri.scheme === REPORT_SCHEME && wanted(query.get("task"), query.get("kind"))) this.changed.fire(uri);
    }
  }
}

/** Return the file that a path in a report means: absolute, or below a folder of the workspace. */
export async function findFile(path: string): Promise<vscode.Uri | undefined> {
  const absolute = /^(?:[A-Za-z]:)?[\\/]/.test(path);
  const folders = vscode.workspace.workspaceFolders ?? [];
  const candidates = absolute ? [vscode.Uri.file(path)] : folders.map(({ uri }) => vscode.Uri.joinPath(uri, path));
  for (const uri of candidates) {
    try {
      const { type } = await vscode.workspace.fs.stat(uri);
      if (type & vscode.FileType.File) return uri;
    } catch {
      continue;
    }
  }
  return undefined;
}

function reportUri(kind: Kind, title: string, task: string): vscode.Uri {
  const name =
    title
      .replace(/[\\/:*?"<>|#%\s]+/g, " ")
      .trim()
      .slice(0, 60) || kind;
  const label = kind === "transcript" ? `${name} (transcript)` : name;
  return vscode.Uri.from({
    scheme: REPORT_SCHEME,
    path: `/${label}.md`,
    query: new URLSearchParams({ kind, task }).toString(),
  });
}

async function show(uri: vscode.Uri, beside: boolean): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  const viewColumn = beside ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
  await vscode.window.showTextDocument(document, { viewColumn, preview: false, preserveFocus: false });
}

function reportText(task: TaskRecord): string {
  const line = [
    `**${task.agent}**`,
    task.state + (task.reason ? ` (${task.reason})` : ""),
    plural(task.toolCalls, "tool call"),
    `${count(tokens(task.usage))} tokens`,
    duration(elapsed(task, Date.now() / 1000)),
    task.model,
  ];
  const running = TERMINAL.has(task.state) ? "No report." : `${task.activity || "Working"}…`;
  const parts = [`# ${taskTitle(task)}`, line.filter(Boolean).join(" · "), task.envelope?.report.trim() || running];
  if (task.envelope?.cut) parts.push(`The report was cut; all of it is in ${task.envelope.outputFile}`);
  if (task.filesChanged.length > 0) parts.push(`## Files changed\n\n${task.filesChanged.map(fileLine).join("\n")}`);
  return parts.join("\n\n") + "\n";
}

function fileLine({ path, change, added, removed }: FileChange): string {
  return `- ${path}:1 (${change}, +${added} -${removed})`;
}
