/** The host side of the chat: hands the page what the server says, and the server what the person did. */
import * as vscode from "vscode";
import type { Approvals } from "../../approvals";
import type { EventNotification, SessionOpened } from "../../protocol";
import { type Reports, findFile } from "../../reports";
import type { Server } from "../../server";
import type { Sessions } from "../../sessions";
import { never } from "../../text";
import { completions, selectionAttachment } from "./completions";
import { pageHtml } from "./html";
import type { Attachment, ToHost, ToPage } from "./messages";

const VIEW = "ensign.chat";
/** Events are handed over together: a message to a page costs more than an event. */
const BATCH_MS = 16;

interface Needs {
  server: Server;
  sessions: Sessions;
  approvals: Approvals;
  reports: Reports;
  extension: vscode.Uri;
  log: vscode.LogOutputChannel;
}

export class ChatView implements vscode.WebviewViewProvider, vscode.Disposable {
  private readonly visibilityChanged = new vscode.EventEmitter<void>();
  readonly onDidChangeVisibility = this.visibilityChanged.event;
  private view: vscode.WebviewView | undefined;
  /** Whether the page listens; what it missed before comes with the snapshot. */
  private listening = false;
  private batch: EventNotification[] = [];
  private timer: NodeJS.Timeout | undefined;
  private inserting: ToPage | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly needs: Needs) {
    const { server, sessions } = needs;
    this.subscriptions = [
      this.visibilityChanged,
      // Hidden and shown again, a chat stands where it was left.
      vscode.window.registerWebviewViewProvider(VIEW, this, { webviewOptions: { retainContextWhenHidden: true } }),
      server.onDidChangeState(() => this.tellServer()),
      server.onEvent((event) => this.collect(event)),
      sessions.onDidOpen((opened) => this.opened(opened)),
      server.onChanged(({ what }) => {
        if (what === "sessions" && this.listening) void this.safely(() => this.retitle());
      }),
    ];
  }

  get visible(): boolean {
    return this.view?.visible ?? false;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    const { extension } = this.needs;
    view.webview.options = {
      enableScripts: true,
      localResourceRoots: [vscode.Uri.joinPath(extension, "dist", "page")],
    };
    view.webview.onDidReceiveMessage((message: ToHost) => void this.safely(() => this.heard(message)));
    view.onDidChangeVisibility(() => this.visibilityChanged.fire());
    view.onDidDispose(() => {
      this.view = undefined;
      this.listening = false;
    });
    view.webview.html = pageHtml(view.webview, extension);
  }

  /** Put the editor's selection into the message box. */
  async attachSelection(): Promise<void> {
    const attachment = selectionAttachment();
    if (attachment !== undefined) await this.insert(`@${attachment.word} `, attachment);
  }

  /** Put text into the message box, and show it. */
  async insert(text: string, attachment: Attachment | null = null): Promise<void> {
    const message: ToPage = { kind: "insert", text, attachment };
    if (this.listening) this.post(message);
    else this.inserting = message;
    await vscode.commands.executeCommand(`${VIEW}.focus`);
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private post(message: ToPage): void {
    void this.view?.webview.postMessage(message);
  }

  private tellServer(): void {
    const { state } = this.needs.server;
    this.post({ kind: "server", state: state.kind, message: state.kind === "failed" ? state.message : "" });
    if (state.kind === "ready" && this.listening) void this.safely(() => this.needs.sessions.ensure());
  }

  private opened(opened: SessionOpened): void {
    if (this.view) this.view.description = opened.snapshot.info.title;
    this.batch = [];
    this.post({ kind: "opened", opened, canBackground: this.needs.server.supports("ensign/task/background") });
  }

  private async retitle(): Promise<void> {
    const { sessions } = await this.needs.server.request("ensign/session/list", {});
    const title = sessions.find(({ sessionId }) => sessionId === this.needs.sessions.current)?.title;
    if (this.view && title !== undefined) this.view.description = title;
  }

  private collect(event: EventNotification): void {
    // A chat gets its name by what is said first.
    if (event.event.kind === "turn_started" && this.view && !this.view.description)
      void this.safely(() => this.retitle());
    if (!this.listening || event.sessionId !== this.needs.sessions.current) return;
    this.batch.push(event);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      if (this.batch.length > 0) this.post({ kind: "events", events: this.batch });
      this.batch = [];
    }, BATCH_MS);
  }

  private async heard(message: ToHost): Promise<void> {
    const { server, sessions, approvals } = this.needs;
    switch (message.kind) {
      case "ready":
        return this.pageReady();
      case "resync":
        return sessions.refresh();
      case "send":
        return this.send(message);
      case "cancel":
        await server.request("ensign/turn/cancel", { sessionId: await sessions.ensure() });
        return;
      case "task":
        return this.act(message);
      case "answer":
        return approvals.answer(message.id, message.outcome, message.message);
      case "diff": {
        const request = approvals.find(message.id);
        return request && approvals.showDiff(request);
      }
      case "complete": {
        const items = await completions(server, message.query);
        this.post({ kind: "completions", request: message.request, items });
        return;
      }
      case "command":
        await vscode.commands.executeCommand(`ensign.${message.command}`);
        return;
      case "open":
      case "link":
      case "copy":
      case "insertCode":
        return useText(message);
      default:
        return never(message);
    }
  }

  private async pageReady(): Promise<void> {
    this.listening = true;
    this.tellServer();
    if (this.inserting !== undefined) this.post(this.inserting);
    this.inserting = undefined;
    if (this.needs.server.state.kind === "ready") await this.needs.sessions.refresh();
  }

  private async send({ text, context }: Extract<ToHost, { kind: "send" }>): Promise<void> {
    const { server, sessions } = this.needs;
    try {
      await server.request("ensign/turn/start", { sessionId: await sessions.ensure(), text, context });
    } catch (error) {
      this.post({ kind: "rejected", text });
      throw error;
    }
  }

  private async act({ ids, action }: Extract<ToHost, { kind: "task" }>): Promise<void> {
    const { server, reports } = this.needs;
    if (action === "stop") {
      await server.request("ensign/task/stop", { ids });
      return;
    }
    for (const id of ids) {
      if (action === "background") await server.request("ensign/task/background", { id });
      else await reports.open(action, await server.request("ensign/task/get", { id }));
    }
  }

  private async safely(act: () => unknown): Promise<void> {
    try {
      await act();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.needs.log.error(message);
      const show = "Show log";
      if ((await vscode.window.showErrorMessage(`Ensign: ${message}`, show)) === show) this.needs.log.show();
    }
  }
}

async function useText(message: Extract<ToHost, { kind: "open" | "link" | "copy" | "insertCode" }>): Promise<void> {
  switch (message.kind) {
    case "open":
      return openFile(message);
    case "link":
      if (/^(?:https?|mailto):/i.test(message.href))
        await vscode.env.openExternal(vscode.Uri.parse(message.href, true));
      return;
    case "copy":
      return vscode.env.clipboard.writeText(message.text);
    case "insertCode":
      await vscode.window.activeTextEditor?.insertSnippet(new vscode.SnippetString().appendText(message.text));
      return;
    default:
      return never(message);
  }
}

async function openFile({ path, line, endLine }: Extract<ToHost, { kind: "open" }>): Promise<void> {
  const file = await findFile(path);
  if (file === undefined) {
    void vscode.window.showInformationMessage(`Ensign: there is no file ${path} in this workspace`);
    return;
  }
  const first = Math.max(0, (line ?? 1) - 1);
  const selection = new vscode.Range(first, 0, Math.max(first, (endLine ?? line ?? 1) - 1), 0);
  await vscode.window.showTextDocument(file, line === null ? {} : { selection });
}
