/** One function per command: parameters, send, one error message. */
import { execFile } from "node:child_process";
import { homedir } from "node:os";
import { promisify } from "node:util";
import * as vscode from "vscode";
import type { Approvals } from "./approvals";
import { showChange, undoTask } from "./changes";
import type { Diffs } from "./diffs";
import type { Explore, Pointed } from "./explore";
import { newAgent } from "./newAgent";
import type { ApprovalRequest, FileChange, TaskRecord } from "./protocol";
import type { Reports } from "./reports";
import type { Secrets } from "./secrets";
import type { Server } from "./server";
import type { Sessions } from "./sessions";
import { deleteChat, pickChat, pickMode, pickModel, renameChat } from "./sessionPicks";
import { TERMINAL, duration, taskTitle } from "./text";
import type { AgentsView } from "./views/agents";
import type { CallSeen } from "./views/calls";
import type { ChatView } from "./views/chat/chat";
import type { TaskNode, TasksView } from "./views/tasks";
import type { Trust } from "./views/trust/trust";
import { discardWorktree, mergeWorktree, openWorktree } from "./worktrees";

export interface Parts {
  server: Server;
  sessions: Sessions;
  approvals: Approvals;
  reports: Reports;
  explore: Explore;
  secrets: Secrets;
  chat: ChatView;
  tasks: TasksView;
  agents: AgentsView;
  trust: Trust;
  diffs: Diffs;
  log: vscode.LogOutputChannel;
}

type Command = (...args: never[]) => unknown;

/** Register all commands. Whatever fails is said in one sentence, with the log a click away. */
export function registerCommands(parts: Parts): vscode.Disposable {
  const all = { ...chatCommands(parts), ...approvalCommands(parts), ...taskCommands(parts), ...otherCommands(parts) };
  return vscode.Disposable.from(
    ...Object.entries<Command>(all).map(([name, run]) =>
      vscode.commands.registerCommand(`ensign.${name}`, async (...args: never[]) => {
        try {
          return await run(...args);
        } catch (error) {
          return sayFailure(parts.log, error);
        }
      }),
    ),
  );
}

/** Say what failed, in one sentence. */
export async function sayFailure(log: vscode.LogOutputChannel, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  log.error(error instanceof Error ? (error.stack ?? message) : message);
  const show = "Show log";
  if ((await vscode.window.showErrorMessage(`Ensign: ${message}`, show)) === show) log.show();
}

function chatCommands({ server, sessions, chat }: Parts): Record<string, Command> {
  return {
    "chat.new": () => sessions.open(),
    "chat.switch": () => pickChat(server, sessions),
    "chat.rename": () => renameChat(server, sessions),
    "chat.delete": (id: string) => deleteChat(server, sessions, id),
    "chat.cancel": async () => server.request("ensign/turn/cancel", { sessionId: await sessions.ensure() }),
    attachSelection: () => chat.attachSelection(),
    selectModel: () => pickModel(server, sessions),
    selectMode: () => pickMode(server, sessions),
  };
}

function approvalCommands({ approvals }: Parts): Record<string, Command> {
  const of = (node: TaskNode | undefined): ApprovalRequest | undefined => {
    if (node?.kind === "approval") return node.request;
    if (node?.kind === "task") return approvals.open.find(({ taskId }) => taskId === node.task.id);
    return approvals.open[0];
  };
  return {
    "approvals.next": async (node?: TaskNode) => {
      const request = of(node);
      if (request) await approvals.review(request);
      else void vscode.window.showInformationMessage("Ensign: nothing waits for you");
    },
    "approval.allow": async (node?: TaskNode) => {
      const request = of(node);
      if (request) await approvals.answer(request.id, "allow_once");
    },
    "approval.deny": async (node?: TaskNode) => {
      const request = of(node);
      if (request) await approvals.answer(request.id, "deny");
    },
    "approval.diff": async (node?: TaskNode) => {
      const request = of(node);
      if (request) await approvals.showDiff(request);
    },
  };
}

function taskCommands({ server, sessions, reports, tasks, diffs }: Parts): Record<string, Command> {
  const chosen = (node?: TaskNode, nodes?: TaskNode[]): TaskRecord[] => {
    const from = nodes ?? (node ? [node] : tasks.tree.selection);
    return from.flatMap((one) => ("task" in one ? [one.task] : []));
  };
  const stop = async (ids: string[]): Promise<void> => {
    if (ids.length > 0) await server.request("ensign/task/stop", { ids });
  };
  return {
    "task.stop": (node?: TaskNode, nodes?: TaskNode[]) => stop(chosen(node, nodes).map(({ id }) => id)),
    "tasks.stopAll": () => stop(tasks.all.filter(({ state }) => !TERMINAL.has(state)).map(({ id }) => id)),
    "tasks.clear": async () => {
      await server.request("ensign/task/clear", { sessionId: await sessions.ensure() });
      tasks.refresh();
    },
    "tasks.refresh": () => tasks.refresh(),
    "task.transcript": async (node?: TaskNode) => {
      for (const task of chosen(node)) await reports.open("transcript", task);
    },
    "task.report": async (node?: TaskNode) => {
      for (const task of chosen(node)) await reports.open("report", task);
    },
    "task.background": async (node?: TaskNode) => {
      for (const { id } of chosen(node)) await server.request("ensign/task/background", { id });
    },
    "task.wrapUp": async (node?: TaskNode) => {
      for (const { id } of chosen(node)) await server.request("ensign/task/wrapUp", { id });
    },
    "task.resume": async (node?: TaskNode) => {
      for (const task of chosen(node)) await resume(server, task);
    },
    "task.send": async (node?: TaskNode) => {
      const [task] = chosen(node);
      const message = task && (await askMessage(task, "What do you want to tell it?"));
      if (task && message) await server.request("ensign/task/send", { id: task.id, message });
    },
    "worktree.merge": async (node?: TaskNode) => {
      for (const task of chosen(node)) await mergeWorktree(server, task);
    },
    "worktree.open": async (node?: TaskNode) => {
      for (const task of chosen(node)) await openWorktree(task);
    },
    "worktree.discard": async (node?: TaskNode) => {
      for (const task of chosen(node)) await discardWorktree(server, task);
    },
    "task.undo": async (node?: TaskNode) => {
      const [task] = chosen(node);
      if (task) await undoTask(server, task);
    },
    "change.open": (task: TaskRecord, file: FileChange) => showChange(server, diffs, task, file),
    "call.open": (task: TaskRecord, call: CallSeen) =>
      reports.openText(
        `${taskTitle(task)} ${call.activity}`,
        `# ${call.activity}\n\n\`\`\`diff\n${call.diff ?? ""}\n\`\`\`\n`,
      ),
  };
}

async function resume(server: Server, task: TaskRecord): Promise<void> {
  // Whoever finished needs to be told what else to do; others simply go on.
  const needed = task.state === "completed";
  const message = await askMessage(
    task,
    needed ? "What should it do next?" : "Anything to tell it? Enter goes on as it was",
  );
  if (message === undefined || (needed && message === "")) return;
  await server.request("ensign/task/resume", message ? { id: task.id, message } : { id: task.id });
}

function askMessage(task: TaskRecord, prompt: string): Thenable<string | undefined> {
  const title = `${task.agent}: ${taskTitle(task)}`;
  return vscode.window.showInputBox({ title, prompt, ignoreFocusOut: true });
}

function otherCommands(parts: Parts): Record<string, Command> {
  const { server, explore, secrets, agents, reports, log, chat, trust } = parts;
  return {
    explore: (pointed: Pointed) => explore.explore(pointed),
    ask: (pointed: Pointed) => explore.ask(pointed),
    setApiKey: (provider?: unknown) => secrets.ask(typeof provider === "string" ? provider : undefined),
    clearApiKey: () => secrets.clear(),
    "agents.refresh": () => agents.refresh(),
    "agents.new": () => newAgent(server),
    manageTrust: () => trust.review(),
    "trust.answer": (answer: string, token: string) => trust.answer(answer, token),
    "report.act": (uri?: vscode.Uri) => actOn(chat, uri),
    restart: () => server.restart(),
    showLog: () => log.show(),
    doctor: () => doctor(server, reports),
    status: () => statusMenu(parts),
  };
}

/** Put a report into the message box: it enters the conversation only when the person sends it. */
async function actOn(chat: ChatView, uri: vscode.Uri | undefined): Promise<void> {
  const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === uri?.toString());
  const text = document?.getText() ?? vscode.window.activeTextEditor?.document.getText();
  if (text) await chat.insert(`Act on this report:\n\n${text}\n`);
}

async function doctor(server: Server, reports: Reports): Promise<void> {
  if (server.supports("ensign/doctor")) {
    return reports.openText("Ensign Doctor", (await server.request("ensign/doctor", {})).text);
  }
  if (server.launch === undefined) {
    const { state } = server;
    const why = state.kind === "failed" ? `${state.message}\n\n${state.steps}` : "The server has not been started.";
    return reports.openText("Ensign Doctor", `# Ensign Doctor\n\n${why}\n`);
  }
  const { python, args } = server.launch;
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? homedir();
  // Findings are printed whatever the exit code says.
  const run = promisify(execFile)(python, [...args, "doctor"], { cwd, timeout: 60_000 });
  const { stdout, stderr } = await run.catch((error: unknown) => error as { stdout: string; stderr: string });
  await reports.openText("Ensign Doctor", `# Ensign Doctor\n\n\`\`\`\n${[stdout, stderr].join("\n").trim()}\n\`\`\`\n`);
}

async function statusMenu({ server, tasks, approvals }: Parts): Promise<void> {
  const { state } = server;
  const item = (label: string, command: string, detail?: string): vscode.QuickPickItem & { command: string } =>
    detail === undefined ? { label, command } : { label, command, detail };
  const waiting = approvals.open[0];
  const items = [
    ...(waiting
      ? [
          item(
            "$(bell-dot) Answer what waits for you",
            "ensign.approvals.next",
            `for ${duration(Date.now() / 1000 - waiting.since)}`,
          ),
        ]
      : []),
    item("$(comment-discussion) Open the chat", "ensign.chat.focus"),
    item("$(list-tree) Show tasks", "ensign.tasks.focus"),
    ...(tasks.counts.running + tasks.counts.queued > 0
      ? [item("$(stop-circle) Stop all tasks", "ensign.tasks.stopAll")]
      : []),
    item("$(symbol-misc) Select model", "ensign.selectModel"),
    item("$(debug-restart) Restart server", "ensign.restart"),
    item("$(output) Show log", "ensign.showLog"),
    item("$(pulse) Doctor", "ensign.doctor"),
  ];
  const title =
    state.kind === "failed"
      ? `Ensign: ${state.message}`
      : state.kind === "ready"
        ? `Ensign ${state.version}`
        : `Ensign: ${state.kind}`;
  const choice = await vscode.window.showQuickPick(items, { title });
  if (choice) await vscode.commands.executeCommand(choice.command);
}
