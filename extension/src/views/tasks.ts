/** The tree of tasks: asked of the server when a window opens, kept true by the records that events carry. */
import { isDeepStrictEqual } from "node:util";
import * as vscode from "vscode";
import type { Approvals } from "../approvals";
import type { ApprovalRequest, Event, FileChange, TaskRecord } from "../protocol";
import type { Server } from "../server";
import type { Sessions } from "../sessions";
import { type Counts, TERMINAL, countsInWords } from "../text";
import { Calls, type CallSeen } from "./calls";
import { type TaskAbilities, approvalItem, callItem, fileItem, groupItem, reportItem, taskItem } from "./taskItems";

export type TaskNode =
  | { kind: "task"; task: TaskRecord }
  | { kind: "approval"; request: ApprovalRequest }
  | { kind: "calls"; task: TaskRecord }
  | { kind: "call"; task: TaskRecord; call: CallSeen }
  | { kind: "files"; task: TaskRecord }
  | { kind: "file"; task: TaskRecord; file: FileChange }
  | { kind: "report"; task: TaskRecord };

const THROTTLE_MS = 150;
/** Tasks that start together appear together: the editor draws a second change 200 ms after the first. */
const GATHER_MS = 30;
const TICK_MS = 10_000;

export class TasksView implements vscode.TreeDataProvider<TaskNode>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  private readonly counted = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly onDidCount = this.counted.event;
  readonly tree: vscode.TreeView<TaskNode>;
  counts: Counts = { running: 0, queued: 0, waiting: 0 };

  private tasks: TaskRecord[] = [];
  private readonly calls = new Calls();
  private asking: NodeJS.Timeout | undefined;
  private askedAt = 0;
  private drawing: NodeJS.Timeout | undefined;
  private watched = "";
  private canClear = false;
  private readonly ticking: NodeJS.Timeout;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly sessions: Sessions,
    private readonly approvals: Approvals,
  ) {
    this.tree = vscode.window.createTreeView("ensign.tasks", {
      treeDataProvider: this,
      canSelectMany: true,
      showCollapseAll: true,
    });
    this.ticking = setInterval(() => this.tick(), TICK_MS);
    this.subscriptions = [
      this.changed,
      this.counted,
      this.tree,
      this.tree.onDidChangeVisibility(() => this.watch()),
      server.onDidChangeState(() => this.refresh()),
      server.onEvent(({ event }) => this.heard(event)),
      sessions.onDidOpen(() => this.refresh()),
      approvals.onDidChange(() => this.redraw()),
    ];
  }

  /** Every task that is shown, parents before children. */
  get all(): readonly TaskRecord[] {
    return this.tasks;
  }

  /** Ask again, soon: changes that come together are one question. */
  refresh(): void {
    if (this.asking !== undefined) return;
    const wait = Math.max(0, this.askedAt + THROTTLE_MS - Date.now());
    this.asking = setTimeout(() => {
      this.asking = undefined;
      this.askedAt = Date.now();
      void this.ask();
    }, wait);
  }

  getTreeItem(node: TaskNode): vscode.TreeItem {
    const now = Date.now() / 1000;
    switch (node.kind) {
      case "task":
        return taskItem(node.task, this.waitingOf(node.task), this.abilities(), now);
      case "approval":
        return approvalItem(node.request);
      case "calls":
        return groupItem(node.task, "calls", "Steps", this.calls.of(node.task.id).length);
      case "files":
        return groupItem(node.task, "files", "Files changed", node.task.filesChanged.length);
      case "call":
        return callItem(node.task, node.call);
      case "file":
        return fileItem(node.task, node.file);
      case "report":
        return reportItem(node.task);
    }
  }

  getChildren(node?: TaskNode): TaskNode[] {
    switch (node?.kind) {
      case undefined:
        return this.roots();
      case "task":
        return this.below(node.task);
      case "calls":
        return this.calls.of(node.task.id).map((call) => ({ kind: "call", task: node.task, call }));
      case "files":
        return node.task.filesChanged.map((file) => ({ kind: "file", task: node.task, file }));
      case "approval":
      case "call":
      case "file":
      case "report":
        return [];
    }
  }

  dispose(): void {
    clearInterval(this.ticking);
    clearTimeout(this.asking);
    clearTimeout(this.drawing);
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private roots(): TaskNode[] {
    const known = new Set(this.tasks.map(({ id }) => id));
    const top = this.tasks.filter(({ parentTaskId }) => parentTaskId === null || !known.has(parentTaskId));
    const own = this.approvals.open.filter(({ taskId }) => taskId === null || !known.has(taskId));
    return [
      ...own.map((request): TaskNode => ({ kind: "approval", request })),
      // The newest first: what was just started is what one looks for.
      ...top.reverse().map((task): TaskNode => ({ kind: "task", task })),
    ];
  }

  private below(task: TaskRecord): TaskNode[] {
    const nodes: TaskNode[] = this.waitingOf(task).map((request) => ({ kind: "approval", request }));
    for (const child of this.tasks) if (child.parentTaskId === task.id) nodes.push({ kind: "task", task: child });
    if (this.calls.of(task.id).length > 0) nodes.push({ kind: "calls", task });
    if (task.filesChanged.length > 0) nodes.push({ kind: "files", task });
    if (TERMINAL.has(task.state)) nodes.push({ kind: "report", task });
    return nodes;
  }

  private waitingOf(task: TaskRecord): ApprovalRequest[] {
    return this.approvals.open.filter(({ taskId }) => taskId === task.id);
  }

  private abilities(): TaskAbilities {
    return {
      resume: this.server.supports("ensign/task/resume"),
      send: this.server.supports("ensign/task/send"),
      background: this.server.supports("ensign/task/background"),
      wrapUp: this.server.supports("ensign/task/wrapUp"),
      undo: this.server.supports("ensign/task/undo"),
    };
  }

  private heard(event: Event): void {
    const called = this.calls.hear(event);
    if (event.kind === "task_changed") this.put(event.record);
    else if (!called) return;
    this.drawing ??= setTimeout(() => {
      this.drawing = undefined;
      this.redraw();
    }, GATHER_MS);
  }

  private put(task: TaskRecord): void {
    const at = this.tasks.findIndex(({ id }) => id === task.id);
    if (at >= 0) this.tasks[at] = task;
    else if (this.isShown(task)) this.tasks.push(task);
    this.sayWhatCanBeDone();
  }

  /** What runs for another chat is still running on the person's behalf. */
  private isShown(task: TaskRecord): boolean {
    return task.sessionId === this.sessions.current || !TERMINAL.has(task.state);
  }

  private async ask(): Promise<void> {
    if (this.server.state.kind === "ready") {
      const { tasks } = await this.server.request("ensign/task/list", {});
      this.tasks = tasks.filter((task) => this.isShown(task));
    } else {
      this.tasks = [];
    }
    this.sayWhatCanBeDone();
    this.redraw();
  }

  private sayWhatCanBeDone(): void {
    const finished = this.tasks.some(({ state }) => TERMINAL.has(state));
    const canClear = finished && this.server.supports("ensign/task/clear");
    if (canClear === this.canClear) return;
    this.canClear = canClear;
    void vscode.commands.executeCommand("setContext", "ensign.canClear", canClear);
  }

  private redraw(): void {
    const waiting = this.approvals.open.length;
    const queued = this.tasks.filter(({ state }) => state === "queued").length;
    const active = this.tasks.filter(({ state }) => !TERMINAL.has(state) && state !== "waiting").length;
    const counts = { running: active - queued, queued, waiting };
    if (!isDeepStrictEqual(counts, this.counts)) {
      this.counts = counts;
      const value = active + waiting;
      this.tree.badge = value === 0 ? undefined : { value, tooltip: countsInWords(counts) };
      void vscode.commands.executeCommand(
        "setContext",
        "ensign.running",
        this.tasks.some((t) => !TERMINAL.has(t.state)),
      );
      this.counted.fire();
    }
    this.changed.fire(undefined);
    this.watch();
  }

  /** Ages move on while nothing else does. */
  private tick(): void {
    if (this.tree.visible && this.counts.running > 0) this.changed.fire(undefined);
  }

  /** Tell the server which tasks a person looks at, so that it summarizes just these. */
  private watch(): void {
    if (!this.server.supports("ensign/view/subscribe")) return;
    const looked = this.tree.visible ? this.tasks.filter(({ state }) => !TERMINAL.has(state)) : [];
    const taskIds = looked.map(({ id }) => id);
    const watched = taskIds.join();
    if (watched === this.watched) return;
    this.watched = watched;
    void this.server.request("ensign/view/subscribe", { taskIds });
  }
}
