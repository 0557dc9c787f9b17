/** How the rows of the task tree look and read. */
import * as vscode from "vscode";
import type { ApprovalRequest, FileChange, TaskRecord, TaskState } from "../protocol";
import { TERMINAL, bracketed, count, duration, elapsed, plural, taskLine, taskTitle, tokens } from "../text";
import { hasWorktree, placeOf, reviewOf, worktreeWords } from "../worktrees";
import type { CallSeen } from "./calls";

/** What the server that runs can do with a task. */
export interface TaskAbilities {
  resume: boolean;
  send: boolean;
  background: boolean;
  wrapUp: boolean;
  undo: boolean;
}

const ICONS: Readonly<Record<TaskState, string>> = {
  queued: "clock",
  running: "loading~spin",
  waiting: "bell-dot",
  stopping: "loading~spin",
  completed: "check",
  partial: "warning",
  failed: "error",
  stopped: "debug-stop",
  interrupted: "debug-disconnect",
};

const CALL_ICONS: Readonly<Record<CallSeen["state"], string>> = {
  running: "loading~spin",
  done: "check",
  failed: "error",
  denied: "circle-slash",
};

export function taskItem(
  task: TaskRecord,
  waiting: readonly ApprovalRequest[],
  can: TaskAbilities,
  now: number,
): vscode.TreeItem {
  const { Collapsed } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(taskTitle(task), Collapsed);
  const line = taskLine(task, now);
  item.id = task.id;
  const took = TERMINAL.has(task.state) ? ` · ${duration(elapsed(task, now))}` : "";
  const tree = worktreeWords(task);
  item.description = [task.agent, tree, `${line}${took}`].filter(Boolean).join(" · ");
  item.iconPath = new vscode.ThemeIcon(ICONS[task.state], color(task.color));
  item.tooltip = tooltip(task, line, now);
  item.contextValue = contextOf(task, waiting, can).join(" ");
  item.accessibilityInformation = {
    label: [taskTitle(task), task.agent, line, tree].filter(Boolean).join(", "),
    role: "treeitem",
  };
  return item;
}

function contextOf(task: TaskRecord, waiting: readonly ApprovalRequest[], can: TaskAbilities): string[] {
  const over = TERMINAL.has(task.state);
  const words = ["task", task.state];
  // `waiting` is the word for a question that can be answered, whatever the record says.
  if (task.state === "waiting" && waiting.length === 0) words.pop();
  if (task.state !== "waiting" && waiting.length > 0) words.push("waiting");
  if (waiting.some(({ diff }) => diff !== null)) words.push("diff");
  if (!over && task.state !== "stopping") words.push("stoppable");
  if (over) words.push("reported");
  if (over && task.filesChanged.length > 0 && can.undo) words.push("undoable");
  if (over && task.resumable && can.resume) words.push("resumable");
  if (can.send && (!over || task.resumable)) words.push("sendable");
  if (!over && !task.background && task.parentAgentId !== null && can.background) words.push("foreground");
  if (!over && can.wrapUp) words.push("wrappable");
  if (hasWorktree(task)) words.push("worktree");
  if (over && hasWorktree(task)) words.push("mergeable");
  return words;
}

function tooltip(task: TaskRecord, line: string, now: number): string {
  const rows = [
    taskTitle(task),
    `${task.agent}, ${task.background ? "in the background" : "in the foreground"}: ${line}`,
    `${plural(task.toolCalls, "tool call")}, ${count(tokens(task.usage))} tokens, ${duration(elapsed(task, now))}`,
    `Model ${task.model || "not chosen yet"} · id ${task.shortId}`,
  ];
  if (task.worktree !== null && hasWorktree(task)) {
    rows.push(`Worktree ${task.worktree.path}`, `of ${task.worktree.main}, ${task.worktree.reason || "in use"}`);
  }
  return rows.join("\n");
}

export function approvalItem(request: ApprovalRequest): vscode.TreeItem {
  const item = new vscode.TreeItem(request.title, vscode.TreeItemCollapsibleState.None);
  item.id = `approval:${request.id}`;
  item.description = request.title.includes(request.detail.trim()) ? bracketed(request.tag) : request.detail.trim();
  item.iconPath = new vscode.ThemeIcon("question", new vscode.ThemeColor("list.warningForeground"));
  item.tooltip = `${bracketed(request.tag)} ${request.title}\n\n${request.detail}\n\n${request.reason}`;
  item.contextValue = request.diff === null ? "approval waiting" : "approval waiting diff";
  item.command = { command: "ensign.approvals.next", title: "Answer", arguments: [{ kind: "approval", request }] };
  item.accessibilityInformation = {
    label: `Waiting for you: ${bracketed(request.tag)} ${request.title}`,
    role: "treeitem",
  };
  return item;
}

export function groupItem(task: TaskRecord, key: string, label: string, size: number): vscode.TreeItem {
  const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Collapsed);
  item.id = `${key}:${task.id}`;
  item.description = String(size);
  return item;
}

export function callItem(task: TaskRecord, call: CallSeen): vscode.TreeItem {
  const item = new vscode.TreeItem(call.activity, vscode.TreeItemCollapsibleState.None);
  item.id = `call:${task.id}:${call.id}`;
  item.iconPath = new vscode.ThemeIcon(CALL_ICONS[call.state]);
  item.description = call.state === "denied" || call.state === "failed" ? call.state : "";
  item.tooltip = `${call.activity} (${call.state})`;
  const open = { command: "ensign.call.open", title: "Open", arguments: [task, call] };
  if (call.diff !== null) item.command = open;
  return item;
}

export function fileItem(task: TaskRecord, file: FileChange): vscode.TreeItem {
  const uri = vscode.Uri.file(placeOf(task, file.path));
  const item = new vscode.TreeItem(uri, vscode.TreeItemCollapsibleState.None);
  item.id = `file:${task.id}:${file.path}`;
  item.description = `${vscode.workspace.asRelativePath(uri, false)} · ${file.change} +${file.added} -${file.removed}`;
  const change = { command: "ensign.change.open", title: "Show the change", arguments: [task, file] };
  item.command = reviewOf(task, file.path) ?? change;
  return item;
}

export function reportItem(task: TaskRecord): vscode.TreeItem {
  const item = new vscode.TreeItem("Report", vscode.TreeItemCollapsibleState.None);
  item.id = `report:${task.id}`;
  item.iconPath = new vscode.ThemeIcon("markdown");
  item.description = task.envelope?.cut ? "shortened" : "";
  item.command = { command: "ensign.task.report", title: "Open report", arguments: [{ kind: "task", task }] };
  return item;
}

export function color(name: string | null): vscode.ThemeColor | undefined {
  return name === null
    ? undefined
    : new vscode.ThemeColor(`ensign.agent${name.charAt(0).toUpperCase()}${name.slice(1)}`);
}
