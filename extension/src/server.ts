/** The server's process and connection: start, restart, ask, and say how it is. */
import * as vscode from "vscode";
import type { LanguageClient, StaticFeature } from "vscode-languageclient/node";
import { applyEdit, saveDocument, unsavedNotebook } from "./edits";
import { type Launch, NoInterpreter, findLaunch } from "./interpreter";
import {
  type MethodName,
  type Params,
  type Result,
  changedMethod,
  eventMethod,
  notebookMethod,
  saveMethod,
} from "./methods";
import type { Changed, DocumentSave, EventNotification, NotebookAsk } from "./protocol";
import { madeSettings, settingNames } from "./settings";

export type ServerState =
  | { kind: "starting" }
  | { kind: "ready"; version: string }
  | { kind: "failed"; message: string; steps: string }
  | { kind: "stopped" };

const MAX_CRASHES = 4;
const CRASH_WINDOW_MS = 180_000;

/** One server for the window. Views ask it and listen to it; it outlives restarts of the process. */
export class Server implements vscode.Disposable {
  private readonly stateChanged = new vscode.EventEmitter<ServerState>();
  private readonly events = new vscode.EventEmitter<EventNotification>();
  private readonly changes = new vscode.EventEmitter<Changed>();
  readonly onDidChangeState = this.stateChanged.event;
  readonly onEvent = this.events.event;
  readonly onChanged = this.changes.event;
  state: ServerState = { kind: "stopped" };

  private client: LanguageClient | undefined;
  private methods: ReadonlySet<string> | undefined;
  private launched: Launch | undefined;
  private changing: Promise<void> | undefined;
  private again = false;
  private crashes: number[] = [];
  private readonly settings: string[];
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.settings = settingNames(context.extension.packageJSON);
    this.subscriptions = [
      this.stateChanged,
      this.events,
      this.changes,
      vscode.workspace.onDidChangeConfiguration((change) => this.configured(change)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.restart()),
    ];
  }

  /** Whether the server that runs answers this request. */
  supports(method: MethodName): boolean {
    return this.state.kind === "ready" && (this.methods?.has(method) ?? false);
  }

  /** The interpreter in use, for commands that run beside the server. */
  get launch(): Launch | undefined {
    return this.launched;
  }

  async request<M extends MethodName>(method: M, params: Params<M>): Promise<Result<M>> {
    if (this.client === undefined || this.state.kind !== "ready") throw new Error("the Ensign server is not running");
    return this.client.sendRequest<Result<M>>(method, params);
  }

  /** Start, or stop and start; calls during a restart are one more restart. */
  restart(): Promise<void> {
    this.again = true;
    this.changing ??= this.restartWhileAsked().finally(() => (this.changing = undefined));
    return this.changing;
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
    void this.stop();
  }

  private async restartWhileAsked(): Promise<void> {
    while (this.again) {
      this.again = false;
      this.crashes = [];
      await this.stop();
      await this.start();
    }
  }

  private async start(): Promise<void> {
    this.become({ kind: "starting" });
    try {
      this.launched = await this.findInterpreter();
      this.client = await this.build(this.launched);
      await this.client.start();
    } catch (error) {
      this.failed(error);
    }
  }

  /** The first time, an environment is made: some seconds in which the person sees why. */
  private async findInterpreter(): Promise<Launch> {
    let made = (): void => undefined;
    const making = (): void => {
      this.log.info("Making the server's own Python environment");
      const title = "Ensign is setting up its Python environment (once)";
      const until = new Promise<void>((resolve) => (made = resolve));
      void vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, () => until);
    };
    try {
      return await findLaunch(this.context, making);
    } finally {
      made();
    }
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client === undefined) return;
    this.become({ kind: "stopped" });
    try {
      await client.dispose();
    } catch (error) {
      // A server that never answered or took too long is killed by the library; there is nothing more to do.
      this.log.debug(`stopping the server: ${String(error)}`);
    }
  }

  private async build(launch: Launch): Promise<LanguageClient> {
    // Loaded only when a server is started: it is most of the extension.
    const library = await import("vscode-languageclient/node");
    const { CloseAction, ErrorAction, LanguageClient, RevealOutputChannelOn, State } = library;
    const args = [...launch.args, "serve", "--stdio"];
    this.log.info(`Starting ${launch.python} ${args.join(" ")}`);
    const client = new (class extends LanguageClient {
      /** Errors are in the log, and the status bar and the views say so: no pop-up besides. */
      override error(message: string, data?: unknown): void {
        super.error(message, data, false);
      }
    })(
      "ensign",
      "Ensign",
      { command: launch.python, args, options: { cwd: this.folder() } },
      {
        documentSelector: [{ scheme: "file" }],
        outputChannel: this.log,
        traceOutputChannel: this.log,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        initializationOptions: () => madeSettings(this.settings),
        middleware: { workspace: { handleApplyEdit: applyEdit } },
        errorHandler: {
          error: () => ({ action: ErrorAction.Continue }),
          closed: () => ({
            action: this.mayRestart() ? CloseAction.Restart : CloseAction.DoNotRestart,
            handled: true,
          }),
        },
        initializationFailedHandler: () => false,
      },
    );
    client.registerFeature(declareAbilities());
    client.onNotification(eventMethod, (event: EventNotification) => this.events.fire(event));
    client.onNotification(changedMethod, (changed: Changed) => this.changes.fire(changed));
    client.onRequest(saveMethod, (params: DocumentSave) => saveDocument(params));
    client.onRequest(notebookMethod, (params: NotebookAsk) => unsavedNotebook(params));
    client.onDidChangeState(({ newState }) => {
      if (this.client !== undefined && client !== this.client) return;
      if (newState === State.Running) this.running(client);
      if (newState === State.Starting) this.become({ kind: "starting" });
    });
    return client;
  }

  private running(client: LanguageClient): void {
    const { capabilities, serverInfo } = client.initializeResult ?? {};
    const experimental = capabilities?.experimental as { ensign?: { methods?: string[] } } | undefined;
    this.methods = new Set(experimental?.ensign?.methods ?? []);
    this.client = client;
    this.become({ kind: "ready", version: serverInfo?.version ?? "" });
  }

  /** The process ended by itself: once is bad luck, often is a fault that the person must see. */
  private mayRestart(): boolean {
    const now = Date.now();
    this.crashes = [...this.crashes.filter((at) => now - at < CRASH_WINDOW_MS), now];
    if (this.crashes.length <= MAX_CRASHES) {
      this.log.warn("The server ended unexpectedly; starting it again");
      this.become({ kind: "starting" });
      return true;
    }
    this.failed(new Error("The Ensign server keeps ending; the log says why"));
    return false;
  }

  private failed(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    const steps = error instanceof NoInterpreter ? error.tried.join("\n") : "";
    this.log.error([message, steps].filter(Boolean).join("\n"));
    this.become({ kind: "failed", message, steps });
  }

  private become(state: ServerState): void {
    if (this.state.kind === state.kind && state.kind !== "failed" && state.kind !== "ready") return;
    this.state = state;
    this.stateChanged.fire(state);
  }

  private configured(change: vscode.ConfigurationChangeEvent): void {
    if (change.affectsConfiguration("ensign.server")) {
      void this.restart();
    } else if (change.affectsConfiguration("ensign") && this.state.kind === "ready") {
      const settings = { ensign: madeSettings(this.settings) };
      void this.client?.sendNotification("workspace/didChangeConfiguration", { settings });
    }
  }

  private folder(): string {
    return vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? this.context.extensionPath;
  }
}

function declareAbilities(): StaticFeature {
  return {
    fillClientCapabilities: (capabilities) => {
      capabilities.experimental = { ensign: { approvals: true, trusted: vscode.workspace.isTrusted } };
    },
    initialize: () => undefined,
    getState: () => ({ kind: "static" }),
    clear: () => undefined,
  };
}
