/** Scaffold an agent definition and open it. */
import * as vscode from "vscode";

export async function newAgent(): Promise<void> {
  const folder = await pickFolder();
  if (folder === undefined) return;
  const name = await vscode.window.showInputBox({
    title: "New agent",
    prompt: "Its name: lower-case letters, digits and dashes",
    placeHolder: "test-writer",
    validateInput: (text) =>
      /^[a-z][a-z0-9-]{0,63}$/.test(text) ? undefined : "Lower-case letters, digits and dashes, a letter first",
  });
  if (name === undefined) return;
  const file = vscode.Uri.joinPath(folder, ".ensign", "agents", `${name}.md`);
  if (!(await exists(file))) await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(scaffold(name)));
  await vscode.window.showTextDocument(file);
}

async function pickFolder(): Promise<vscode.Uri | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length > 1) return (await vscode.window.showWorkspaceFolderPick())?.uri;
  if (folders[0] === undefined) throw new Error("open a folder first: an agent belongs to a project");
  return folders[0].uri;
}

async function exists(file: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(file);
    return true;
  } catch {
    return false;
  }
}

function scaffold(name: string): string {
  return `---
name: ${name}
description: When the main agent should delegate to it, in one sentence
tools: [Read, Glob, Grep]
---
You are ${name}. Say here what it does, how it works, and what its report must contain.
`;
}
