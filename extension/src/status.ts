/** The status bar: how the server is, what runs, what waits, what it used. */
import * as vscode from "vscode";
import type { Server } from "./server";
import type { Sessions } from "./sessions";
import { count, countsInWords } from "./text";
import type { TasksView } from "./views/tasks";

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("ensign.status", vscode.StatusBarAlignment.Left, 0);
  private tokens = 0;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly tasks: TasksView,
    sessions: Sessions,
  ) {
    this.item.name = "Ensign";
    this.item.command = "ensign.status";
    this.subscriptions = [
      this.item,
      server.onDidChangeState(() => this.draw()),
      tasks.onDidCount(() => this.draw()),
      sessions.onDidUse((tokens) => {
        this.tokens = tokens;
        this.draw();
      }),
    ];
    this.draw();
    this.item.show();
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private draw(): void {
    const { state } = this.server;
    this.item.backgroundColor = undefined;
    switch (state.kind) {
      case "starting":
        this.set("$(loading~spin) Ensign", "Ensign: the server is starting");
        break;
      case "stopped":
        this.set("$(circle-slash) Ensign", "Ensign: the server is stopped. Click for actions");
        break;
      case "failed":
        this.set("$(error) Ensign", `Ensign: ${state.message}. Click for the log and a restart`);
        this.item.backgroundColor = new vscode.ThemeColor("statusBarItem.errorBackground");
        break;
      case "ready":
        this.drawReady();
    }
    void vscode.commands.executeCommand("setContext", "ensign.state", state.kind);
    void vscode.commands.executeCommand("setContext", "ensign.ready", state.kind === "ready");
  }

  private drawReady(): void {
    const { running, queued, waiting } = this.tasks.counts;
    const parts: string[] = [];
    if (running > 0) parts.push(`${running} running`);
    if (queued > 0) parts.push(`${queued} queued`);
    if (waiting > 0) parts.push(`${waiting} waiting`);
    if (this.tokens > 0) parts.push(`${count(this.tokens)} tokens`);
    const icon = waiting > 0 ? "$(bell-dot)" : running > 0 ? "$(loading~spin)" : "$(hubot)";
    this.set(
      parts.length === 0 ? `${icon} Ensign` : `${icon} ${parts.join(", ")}`,
      `Ensign: ${countsInWords(this.tasks.counts) || "nothing running"}, ${count(this.tokens)} tokens in this chat`,
    );
    if (waiting > 0) this.item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
  }

  private set(text: string, tooltip: string): void {
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.accessibilityInformation = { label: tooltip, role: "button" };
  }
}
