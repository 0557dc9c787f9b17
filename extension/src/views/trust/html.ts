/** The page on which trust is given: no script runs in it, and everything in it that others wrote is text. */
import type { FolderTrust, TrustFile } from "../../protocol";
import { plural } from "../../text";

const KINDS: Readonly<Record<TrustFile["kind"], string>> = {
  settings: "Settings",
  agent: "Agent",
  mcp: "MCP servers",
  skill: "Skill",
  git: "Git",
};

const STYLE = `
body { max-width: 60rem; margin: 0 auto; padding: 1.5rem 2rem 3rem; line-height: 1.5; color: var(--vscode-foreground); }
h1 { font-size: 1.5rem; font-weight: 600; margin: 0 0 .25rem; }
h2 { font-size: 1.05rem; font-weight: 600; margin: 0; overflow-wrap: anywhere; }
p { margin: .5rem 0; }
.path, .kind { color: var(--vscode-descriptionForeground); overflow-wrap: anywhere; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; margin: 1rem 0; }
a.button { padding: .35rem .9rem; border-radius: 2px; text-decoration: none; border: 1px solid var(--vscode-button-border, transparent);
  color: var(--vscode-button-secondaryForeground); background: var(--vscode-button-secondaryBackground); }
a.button:hover { background: var(--vscode-button-secondaryHoverBackground); }
a.primary { color: var(--vscode-button-foreground); background: var(--vscode-button-background); }
a.primary:hover { background: var(--vscode-button-hoverBackground); }
a.button:focus-visible, summary:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 2px; }
section { border: 1px solid var(--vscode-panel-border, var(--vscode-contrastBorder, transparent)); border-radius: 4px;
  padding: .8rem 1rem; margin: .8rem 0; }
header { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; }
.state { margin-left: auto; color: var(--vscode-descriptionForeground); }
.state.waiting { color: var(--vscode-editorWarning-foreground); }
ul { margin: .5rem 0; padding-left: 1.2rem; }
li { overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--vscode-textLink-foreground); }
pre { margin: .5rem 0 0; padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere;
  background: var(--vscode-textCodeBlock-background); font-family: var(--vscode-editor-font-family); font-size: var(--vscode-editor-font-size); }
.note { border-left: 3px solid var(--vscode-editorWarning-foreground); padding-left: .8rem; }
`;

export function trustHtml(folders: FolderTrust[], token: string): string {
  const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Workspace trust</title>
<style>${STYLE}</style>
</head>
<body>${folders.map((folder, at) => folderHtml(folder, at, token)).join("<hr>")}</body>
</html>`;
}

function folderHtml(folder: FolderTrust, at: number, token: string): string {
  const waiting = folder.files.filter(({ trusted }) => !trusted);
  const buttons: string[] = [];
  const button = (label: string, verb: string, primary = false): number =>
    buttons.push(link(label, `${verb} ${at}`, token, primary));
  if (folder.restricted) button("Trust this workspace in the editor…", "editor", true);
  else if (waiting.length > 0)
    button(`Trust ${waiting.length === 1 ? "this file" : `these ${waiting.length} files`}`, "trust", true);
  if (folder.trusted) button("Stop trusting this folder", "forget");
  button(waiting.length > 0 ? "Not now" : "Close", "later");
  // The files that still wait come first.
  const files = [...waiting, ...folder.files.filter(({ trusted }) => trusted)];
  return `<main>
<h1>${text(title(folder, waiting))}</h1>
<p class="path">${text(folder.path)}</p>
${folder.restricted ? `<p class="note">The editor does not trust this workspace (restricted mode), so nothing of it counts in Ensign either.</p>` : ""}
<p>${text(explanation(folder, waiting))}</p>
<div class="actions">${buttons.join("")}</div>
${files.map(fileHtml).join("")}
</main>`;
}

function title(folder: FolderTrust, waiting: TrustFile[]): string {
  if (folder.files.length === 0) return "This folder asks for nothing";
  if (waiting.length === 0) return "You trust what this folder brings";
  return folder.trusted
    ? `${plural(waiting.length, "file")} new or changed since you trusted this folder`
    : "Do you trust what this folder brings?";
}

function explanation(folder: FolderTrust, waiting: TrustFile[]): string {
  if (folder.files.length === 0)
    return "It has no rules, agents, servers, skills or git settings that would need your trust.";
  if (waiting.length === 0) return "What changes later asks again, and does not count until then.";
  if (folder.restricted) return "Once it does, Ensign asks about these files:";
  return "These files loosen rules, or bring agents and programs. Until you trust them they can only tighten. You trust exactly what is shown below; what changes later asks again.";
}

function fileHtml(file: TrustFile): string {
  const state = file.trusted ? "trusted" : file.changed ? "changed since you trusted it" : "not trusted";
  return `<section aria-label="${text(file.name)}">
<header><h2>${text(file.name)}</h2><span class="kind">${KINDS[file.kind]}</span><span class="state${file.trusted ? "" : " waiting"}">${state}</span></header>
<ul>${file.asks.map((ask) => `<li>${text(ask)}</li>`).join("")}</ul>
<details${file.trusted ? "" : " open"}><summary>Content</summary><pre>${text(file.content)}</pre></details>
</section>`;
}

function link(label: string, answer: string, token: string, primary: boolean): string {
  const target = `command:ensign.trust.answer?${encodeURIComponent(JSON.stringify([answer, token]))}`;
  return `<a role="button" class="button${primary ? " primary" : ""}" href="${text(target)}">${text(label)}</a>`;
}

function text(written: string): string {
  const names: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return written.replace(/[&<>"']/g, (one) => names[one] ?? one);
}
