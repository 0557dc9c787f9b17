/** The tree of agent definitions, by where they come from, with what is wrong with them. */
import * as path from "node:path";
import * as vscode from "vscode";
import type { AgentInfo, AgentsListed, DiagnosticInfo } from "../protocol";
import type { Server } from "../server";
import { plural, visible } from "../text";
import { color } from "./taskItems";

type AgentNode =
  | { kind: "trust"; waiting: number }
  | { kind: "source"; source: string; agents: AgentInfo[] }
  | { kind: "agent"; agent: AgentInfo }
  | { kind: "problems"; problems: DiagnosticInfo[] }
  | { kind: "problem"; problem: DiagnosticInfo };

const SOURCES: Readonly<Record<string, string>> = {
  project: "This project",
  "project-claude": "This project (.claude)",
  user: "Yours",
  "user-claude": "Yours (.claude)",
  plugin: "Plugins",
  "built-in": "Built in",
};

const SEVERITY_ICONS: Readonly<Record<DiagnosticInfo["severity"], string>> = {
  error: "error",
  warning: "warning",
  information: "info",
};

export class AgentsView implements vscode.TreeDataProvider<AgentNode>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.subscriptions = [
      this.changed,
      vscode.window.createTreeView("ensign.agents", { treeDataProvider: this, showCollapseAll: true }),
      server.onDidChangeState(() => this.refresh()),
      server.onChanged(({ what }) => {
        if (what !== "sessions") this.refresh();
      }),
    ];
  }

  refresh(): void {
    this.changed.fire(undefined);
  }

  async getChildren(node?: AgentNode): Promise<AgentNode[]> {
    switch (node?.kind) {
      case undefined:
        return this.server.state.kind === "ready" ? [...(await this.held()), ...(await this.roots())] : [];
      case "source":
        return node.agents.map((agent) => ({ kind: "agent", agent }));
      case "problems":
        return node.problems.map((problem) => ({ kind: "problem", problem }));
      case "agent":
      case "problem":
      case "trust":
        return [];
    }
  }

  getTreeItem(node: AgentNode): vscode.TreeItem {
    switch (node.kind) {
      case "source": {
        const item = new vscode.TreeItem(SOURCES[node.source] ?? node.source, vscode.TreeItemCollapsibleState.Expanded);
        item.id = `source:${node.source}`;
        return item;
      }
      case "problems": {
        const item = new vscode.TreeItem("Problems", vscode.TreeItemCollapsibleState.Expanded);
        item.id = "problems";
        item.description = String(node.problems.length);
        return item;
      }
      case "trust":
        return trustItem(node.waiting);
      case "agent":
        return agentItem(node.agent);
      case "problem":
        return problemItem(node.problem);
    }
  }

  private async roots(): Promise<AgentNode[]> {
    return roots(await this.server.request("ensign/agent/list", {}));
  }

  /** What the folders bring that does not count yet. */
  private async held(): Promise<AgentNode[]> {
    const { folders } = await this.server.request("ensign/trust/get", {});
    const waiting = folders.flatMap(({ files }) => files).filter(({ trusted }) => !trusted).length;
    return waiting === 0 ? [] : [{ kind: "trust", waiting }];
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }
}

function roots({ agents, diagnostics }: AgentsListed): AgentNode[] {
  const sources = new Map<string, AgentInfo[]>();
  for (const agent of agents) sources.set(agent.source, [...(sources.get(agent.source) ?? []), agent]);
  const order = [...Object.keys(SOURCES), ...sources.keys()];
  const nodes: AgentNode[] = [...new Set(order)].flatMap((source) => {
    const found = sources.get(source);
    return found ? [{ kind: "source" as const, source, agents: found }] : [];
  });
  return diagnostics.length === 0 ? nodes : [{ kind: "problems", problems: diagnostics }, ...nodes];
}

function agentItem(agent: AgentInfo): vscode.TreeItem {
  const item = new vscode.TreeItem(agent.name, vscode.TreeItemCollapsibleState.None);
  const shadowed = agent.shadowedBy !== null;
  item.id = `agent:${agent.source}:${agent.path ?? agent.name}`;
  item.iconPath = new vscode.ThemeIcon(shadowed ? "circle-slash" : "hubot", shadowed ? undefined : color(agent.color));
  item.description = shadowed
    ? `${agent.trusted ? "shadowed" : "not trusted, held back"} by ${visible(agent.shadowedBy ?? "")}`
    : [agent.trusted ? "" : "not trusted", toolsLine(agent), agent.model ?? ""].filter(Boolean).join(" · ");
  item.tooltip = tooltip(agent);
  if (!agent.trusted) item.iconPath = new vscode.ThemeIcon("shield");
  item.contextValue = shadowed ? "agent shadowed" : "agent";
  if (agent.path !== null) item.command = openAt(agent.path, 1, 1);
  return item;
}

function trustItem(waiting: number): vscode.TreeItem {
  const label = waiting === 1 ? "1 file is not trusted" : `${waiting} files are not trusted`;
  const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.None);
  item.id = "trust";
  item.iconPath = new vscode.ThemeIcon("shield", new vscode.ThemeColor("list.warningForeground"));
  item.description = "Review…";
  item.tooltip = "What this folder brings counts only once you trust it. Click to review";
  item.accessibilityInformation = { label: `${label}, review` };
  item.command = { command: "ensign.manageTrust", title: "Manage Workspace Trust" };
  return item;
}

function toolsLine({ tools }: AgentInfo): string {
  if (tools === null) return "all tools";
  if (tools.length === 0) return "no tools";
  return tools.length <= 4 ? tools.join(", ") : plural(tools.length, "tool");
}

function tooltip(agent: AgentInfo): string {
  const rows = [visible(agent.description), `Tools: ${agent.tools?.join(", ") ?? "all that a subagent may use"}`];
  if (agent.disallowedTools.length > 0) rows.push(`Never: ${agent.disallowedTools.join(", ")}`);
  rows.push(`Model: ${agent.model ?? "the parent's"}`);
  if (agent.permissionMode !== null) rows.push(`Permissions: ${agent.permissionMode}`);
  if (agent.background) rows.push("Runs in the background");
  if (agent.shadows.length > 0) rows.push(`Hides: ${visible(agent.shadows.join(", "))}`);
  if (agent.unserved.length > 0) rows.push(`Not served yet: ${agent.unserved.join(", ")}`);
  if (!agent.trusted) rows.push("Not trusted: it runs in the mode default, with no rules, hooks or servers of its own");
  if (agent.path !== null) rows.push(visible(agent.path));
  return rows.join("\n");
}

function problemItem(problem: DiagnosticInfo): vscode.TreeItem {
  const item = new vscode.TreeItem(visible(path.basename(problem.path)), vscode.TreeItemCollapsibleState.None);
  item.iconPath = new vscode.ThemeIcon(
    SEVERITY_ICONS[problem.severity],
    new vscode.ThemeColor(`list.${problem.severity === "error" ? "error" : "warning"}Foreground`),
  );
  item.description = visible(problem.message);
  item.tooltip = `${visible(problem.path)}:${problem.line}:${problem.column}\n${visible(problem.message)} (${problem.code})`;
  item.command = openAt(problem.path, problem.line, problem.column);
  return item;
}

function openAt(file: string, line: number, column: number): vscode.Command {
  const at = new vscode.Position(Math.max(0, line - 1), Math.max(0, column - 1));
  return {
    command: "vscode.open",
    title: "Open",
    arguments: [
      vscode.Uri.file(file),
      { selection: new vscode.Range(at, at) } satisfies vscode.TextDocumentShowOptions,
    ],
  };
}
