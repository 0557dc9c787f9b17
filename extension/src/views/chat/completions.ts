/** What `@` offers in the message box: the selection, agents, open and other files. */
import * as vscode from "vscode";
import { plainRange } from "../../explore";
import type { Server } from "../../server";
import type { Attachment, Completion } from "./messages";

const FILES = 20;
const EXCLUDED = "**/{node_modules,.git,.venv,__pycache__,dist,out,build,target}/**";

export async function completions(server: Server, query: string): Promise<Completion[]> {
  const [agents, files] = await Promise.all([agentItems(server, query), fileItems(query)]);
  return [...selectionItems(query), ...agents, ...files];
}

/** The selection of the active editor, to go along with a message. */
export function selectionAttachment(): Attachment | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.selection.isEmpty) return undefined;
  const { document, selection } = editor;
  const lines = `${selection.start.line + 1}-${selection.end.line + 1}`;
  const context = { uri: document.uri.toString(), range: plainRange(selection), text: document.getText(selection) };
  return { word: `${vscode.workspace.asRelativePath(document.uri, false)}:${lines}`, context };
}

function selectionItems(query: string): Completion[] {
  const selected = selectionAttachment();
  if (selected === undefined || !"selection".startsWith(query.toLowerCase())) return [];
  const { word, context } = selected;
  return [{ insert: word, label: "selection", detail: word, icon: "list-selection", context }];
}

async function agentItems(server: Server, query: string): Promise<Completion[]> {
  const { agents } = await server.request("ensign/agent/list", {});
  return agents
    .filter(({ name, shadowedBy }) => shadowedBy === null && name.toLowerCase().includes(query.toLowerCase()))
    .map(({ name, description }) => ({ insert: name, label: name, detail: description, icon: "hubot", context: null }));
}

async function fileItems(query: string): Promise<Completion[]> {
  const open = vscode.workspace.textDocuments.map(({ uri }) => uri).filter(({ scheme }) => scheme === "file");
  const found = await vscode.workspace.findFiles(globFor(query), EXCLUDED, FILES * 5);
  const byPath = new Map<string, vscode.Uri>();
  for (const uri of [...open, ...found]) byPath.set(vscode.workspace.asRelativePath(uri), uri);
  return [...byPath]
    .filter(([path]) => path.toLowerCase().includes(query.toLowerCase()))
    .sort(([a], [b]) => rank(a, query) - rank(b, query) || a.length - b.length || a.localeCompare(b))
    .slice(0, FILES)
    .map(([path, uri]) => ({
      insert: path,
      label: path.slice(path.lastIndexOf("/") + 1),
      detail: path,
      icon: "file",
      context: { uri: uri.toString() },
    }));
}

function rank(path: string, query: string): number {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return name.startsWith(query.toLowerCase()) ? 0 : name.includes(query.toLowerCase()) ? 1 : 2;
}

/** Globs know no flags, so that each letter is written both ways. */
function globFor(query: string): string {
  const anyCase = query.replace(/[*?[\]{}]/g, "").replace(/\p{L}/gu, (c) => `[${c.toLowerCase()}${c.toUpperCase()}]`);
  const slash = anyCase.lastIndexOf("/");
  return slash < 0 ? `**/*${anyCase}*` : `**/${anyCase.slice(0, slash)}/**/*${anyCase.slice(slash + 1)}*`;
}
