/** Builds the parts, joins them, and starts the server; everything else is in the parts. */
import * as vscode from "vscode";
import { Approvals } from "./approvals";
import { registerCommands } from "./commands";
import { Diffs } from "./diffs";
import { Explore } from "./explore";
import { Reports } from "./reports";
import { Secrets } from "./secrets";
import { Server } from "./server";
import { Sessions } from "./sessions";
import { Status } from "./status";
import { AgentsView } from "./views/agents";
import { ChatView } from "./views/chat/chat";
import { TasksView } from "./views/tasks";
import { Trust } from "./views/trust/trust";

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Ensign", { log: true });
  const server = new Server(context, log);
  const sessions = new Sessions(server, context.workspaceState);
  const reports = new Reports(server);
  const explore = new Explore(server, sessions, reports);
  const secrets = new Secrets(server, context.secrets);
  const diffs = new Diffs();
  const approvals: Approvals = new Approvals(server, reports, diffs, () => chat.visible || tasks.tree.visible);
  const tasks: TasksView = new TasksView(server, sessions, approvals);
  const agents = new AgentsView(server);
  const chat: ChatView = new ChatView({ server, sessions, approvals, reports, extension: context.extensionUri, log });
  const trust = new Trust(server, context.workspaceState, log);
  const parts = { server, sessions, approvals, reports, explore, secrets, chat, tasks, agents, trust, diffs, log };
  context.subscriptions.push(
    registerCommands(parts),
    new Status(server, tasks, sessions),
    chat.onDidChangeVisibility(() => approvals.remind()),
    tasks.tree.onDidChangeVisibility(() => approvals.remind()),
    ...Object.values(parts),
  );
  void server.restart();
}
