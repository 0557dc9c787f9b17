/** A new agent: its place and name are asked for here, judged and written by the server. */
import * as vscode from "vscode";
import type { AgentCreate } from "./protocol";
import type { Server } from "./server";

interface PlaceItem extends vscode.QuickPickItem {
  place: AgentCreate["place"];
  cwd?: string;
}

export async function newAgent(server: Server): Promise<void> {
  const where = await pickPlace();
  if (where === undefined) return;
  const params = (name: string): AgentCreate => ({
    name,
    place: where.place,
    ...(where.cwd === undefined ? {} : { cwd: where.cwd }),
  });
  const name = await vscode.window.showInputBox({
    title: "New agent",
    prompt: "Its name, by which the main agent calls it",
    placeHolder: "test-writer",
    ignoreFocusOut: true,
    validateInput: async (text) => {
      if (!text.trim()) return undefined;
      try {
        await server.request("ensign/agent/create", { ...params(text), check: true });
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
  });
  if (!name?.trim()) return;
  const made = await server.request("ensign/agent/create", params(name));
  const selection = new vscode.Range(made.line, made.start, made.line, made.end);
  await vscode.window.showTextDocument(vscode.Uri.file(made.path), { selection });
}

async function pickPlace(): Promise<PlaceItem | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const items: PlaceItem[] = folders.map(({ name, uri }) => ({
    label: `$(folder) ${folders.length > 1 ? name : "This project"}`,
    detail: "In .ensign/agents, for everybody who works on it",
    place: "project",
    cwd: uri.fsPath,
  }));
  items.push({ label: "$(account) You", detail: "In your own folder, for all your projects", place: "user" });
  return vscode.window.showQuickPick(items, { title: "New agent", placeHolder: "Who is it for?" });
}
