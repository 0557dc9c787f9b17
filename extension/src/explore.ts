/** Start a subagent on what a person points at: a selection, a symbol, a file, a folder. */
import * as vscode from "vscode";
import type { AgentRun, Range, TaskRecord } from "./protocol";
import type { Reports } from "./reports";
import type { Server } from "./server";
import type { Sessions } from "./sessions";
import { TERMINAL, taskTitle } from "./text";

/** What a command is given: a file or folder by a menu, a place by the server's code action, nothing by a key. */
export type Pointed = vscode.Uri | { uri: string; range: Range } | undefined;

/** What was pointed at, in words and as the server wants it. */
interface Target {
  words: string;
  prompt: string;
  uri: vscode.Uri;
  range: Range | undefined;
}

export class Explore implements vscode.Disposable {
  /** Tasks whose report opens when they end. */
  private readonly awaited = new Set<string>();
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly server: Server,
    private readonly sessions: Sessions,
    private readonly reports: Reports,
  ) {
    this.subscription = server.onEvent(({ event }) => {
      if (event.kind === "task_changed") void this.ended(event.record);
    });
  }

  /** `Explore this with a subagent`. */
  async explore(pointed: Pointed): Promise<void> {
    const target = await targetOf(pointed);
    if (target !== undefined) await this.start("Explore", target.prompt, target);
    else await this.ask(undefined);
  }

  /** `Ask a subagent…`: pick the agent, type the task. */
  async ask(pointed: Pointed): Promise<void> {
    const target = await targetOf(pointed);
    const { agents } = await this.server.request("ensign/agent/list", {});
    const choices = agents
      .filter(({ shadowedBy }) => shadowedBy === null)
      .map(({ name, description, source }) => ({ label: name, description: source, detail: description }));
    const agent = await vscode.window.showQuickPick(choices, {
      title: "Ask a subagent",
      placeHolder: "Which agent?",
      matchOnDetail: true,
    });
    if (agent === undefined) return;
    const prompt = await vscode.window.showInputBox({
      title: `Ask ${agent.label}`,
      prompt: target
        ? `It is told about ${target.words}.`
        : "It starts with an empty conversation: say all it needs to know.",
      placeHolder: "What should it do?",
      ignoreFocusOut: true,
    });
    if (prompt?.trim()) await this.start(agent.label, prompt.trim(), target);
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private async start(agent: string, prompt: string, target: Target | undefined): Promise<void> {
    const params: AgentRun = { agent, prompt, sessionId: await this.sessions.ensure() };
    if (target !== undefined) params.uri = target.uri.toString();
    if (target?.range !== undefined) params.range = target.range;
    const { taskId } = await this.server.request("ensign/agent/run", params);
    this.awaited.add(taskId);
    void vscode.window.setStatusBarMessage(`$(loading~spin) ${agent} works; its report opens here`, 4_000);
  }

  private async ended(task: TaskRecord): Promise<void> {
    if (!TERMINAL.has(task.state) || !this.awaited.delete(task.id)) return;
    if (task.state === "stopped") return;
    await this.reports.open("report", task);
    void vscode.window.setStatusBarMessage(`Ensign: ${taskTitle(task).replaceAll("$(", "$ (")}: ${task.state}`, 5_000);
  }
}

async function targetOf(pointed: Pointed): Promise<Target | undefined> {
  const editor = vscode.window.activeTextEditor;
  if (pointed !== undefined && !(pointed instanceof vscode.Uri)) {
    const { start, end } = pointed.range;
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(pointed.uri));
    return inDocument(document, new vscode.Range(start.line, start.character, end.line, end.character));
  }
  if (editor?.document.uri.scheme === "file" && (!pointed || pointed.toString() === editor.document.uri.toString())) {
    return inDocument(editor.document, editor.selection);
  }
  return pointed?.scheme === "file" ? inExplorer(pointed) : undefined;
}

async function inExplorer(uri: vscode.Uri): Promise<Target> {
  const words = vscode.workspace.asRelativePath(uri, false);
  const { type } = await vscode.workspace.fs.stat(uri);
  const folder = (type & vscode.FileType.Directory) !== 0;
  const prompt = folder
    ? `Explore the folder ${words}: its parts, how they work together, where to start`
    : wholeFile(words);
  return { words, prompt, uri, range: undefined };
}

function inDocument(document: vscode.TextDocument, range: vscode.Range): Target {
  const name = vscode.workspace.asRelativePath(document.uri, false);
  const { uri } = document;
  if (!range.isEmpty) {
    const words = `${name}:${range.start.line + 1}-${range.end.line + 1}`;
    const prompt = `Explore ${words}: what it does, depends on, and serves`;
    return { words, prompt, uri, range: plainRange(range) };
  }
  const word = document.getWordRangeAtPosition(range.start);
  if (word === undefined) return { words: name, prompt: wholeFile(name), uri, range: undefined };
  const words = `\`${document.getText(word)}\` (${name}:${word.start.line + 1})`;
  const prompt = `Explore ${words}: definition, uses, behaviour`;
  return { words, prompt, uri, range: plainRange(word) };
}

function wholeFile(name: string): string {
  return `Explore ${name}: what it does, depends on, and serves`;
}

export function plainRange({ start, end }: vscode.Range): Range {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}
