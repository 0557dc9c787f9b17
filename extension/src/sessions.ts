/** Which chat this window shows. The chat itself is the server's. */
import { homedir } from "node:os";
import * as vscode from "vscode";
import type { EventNotification, SessionOpened } from "./protocol";
import type { Server } from "./server";
import { tokens } from "./text";

const KEY = "session";

export class Sessions implements vscode.Disposable {
  private readonly opened = new vscode.EventEmitter<SessionOpened>();
  private readonly used = new vscode.EventEmitter<number>();
  /** A chat's whole state: after opening, switching, a restart of the server, or a missed event. */
  readonly onDidOpen = this.opened.event;
  readonly onDidUse = this.used.event;
  current: string | undefined;

  private opening: Promise<SessionOpened> | undefined;
  private tokens = 0;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly memory: vscode.Memento,
  ) {
    this.subscriptions = [
      this.opened,
      this.used,
      server.onDidChangeState((state) => {
        if (state.kind === "ready") void this.reopen();
      }),
      server.onEvent((event) => this.count(event)),
    ];
  }

  /** Return the chat shown, opening the last one, or a new one where there is none. */
  async ensure(): Promise<string> {
    return this.current ?? (await this.open(this.memory.get<string>(KEY))).sessionId;
  }

  /** Show a stored chat, or a new one. */
  open(id?: string): Promise<SessionOpened> {
    this.opening ??= this.ask(id).finally(() => (this.opening = undefined));
    return this.opening;
  }

  /** Ask for the whole state of the chat shown. */
  async refresh(): Promise<void> {
    if (this.current === undefined) {
      await this.ensure();
    } else {
      this.show(await this.server.request("ensign/session/snapshot", { sessionId: this.current }));
    }
  }

  /** Forget a chat that was deleted; the next one is new. */
  async forget(id: string): Promise<void> {
    if (id !== (this.current ?? this.memory.get<string>(KEY))) return;
    this.current = undefined;
    await this.memory.update(KEY, undefined);
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private async reopen(): Promise<void> {
    const id = this.current ?? this.memory.get<string>(KEY);
    this.current = undefined;
    if (id !== undefined) await this.open(id).catch(() => undefined);
  }

  private async ask(id: string | undefined): Promise<SessionOpened> {
    const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? homedir();
    const opened = await this.server
      .request("ensign/session/open", id === undefined ? { cwd } : { cwd, id })
      .catch(async (error: unknown) => {
        if (id === undefined) throw error;
        // It was deleted, or lives in another place by now.
        await this.memory.update(KEY, undefined);
        return this.server.request("ensign/session/open", { cwd });
      });
    // At once: the next events are already on their way, and count from this state.
    this.show(opened);
    await this.memory.update(KEY, opened.sessionId);
    return opened;
  }

  private show(opened: SessionOpened): void {
    this.current = opened.sessionId;
    this.tokens = tokens(opened.snapshot.usage);
    this.opened.fire(opened);
    this.used.fire(this.tokens);
  }

  private count({ sessionId, event }: EventNotification): void {
    if (event.kind !== "usage_reported" || sessionId !== this.current) return;
    this.tokens += tokens(event.usage);
    this.used.fire(this.tokens);
  }
}
