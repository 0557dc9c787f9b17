/** One queue of open questions, shown as a toast, in the tree and in the chat; the first answer wins. */
import * as vscode from "vscode";
import type { Diffs } from "./diffs";
import type { ApprovalRequest, Outcome } from "./protocol";
import type { Reports } from "./reports";
import type { Server } from "./server";
import { OUTCOME_LABELS, bracketed, fitsPick, fitsToast, inert, plural, toastText } from "./text";

const SHOW_DIFF = "Show diff";
const HIDE_TOASTS = "notifications.hideToasts";
const REVIEW = "Review…";
const OWN_WORDS = "Something else…";

const MEANING: Readonly<Record<Outcome, string>> = {
  allow_once: "just this call",
  allow_task: "this and the like, until the task ends",
  allow_session: "this and the like, in this chat",
  allow_always: "save a rule; it is shown first",
  deny: "the agent is told so",
};

export class Approvals implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private requests: ApprovalRequest[] = [];
  /** Whose toast is up; toasts come one at a time. */
  private toasted: string | undefined;
  private readonly seen = new Set<string>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly reports: Reports,
    private readonly diffs: Diffs,
    private readonly viewVisible: () => boolean,
  ) {
    this.subscriptions = [
      this.changed,
      server.onDidChangeState(({ kind }) => {
        if (kind === "ready") void this.refresh();
        else this.set([]);
      }),
      server.onEvent(({ event }) => {
        if (event.kind === "approval_requested") this.set([...this.without(event.request.id), event.request]);
        if (event.kind === "approval_resolved") this.set(this.without(event.approvalId));
      }),
    ];
  }

  /** The open questions, oldest first. */
  get open(): readonly ApprovalRequest[] {
    return this.requests;
  }

  find(id: string): ApprovalRequest | undefined {
    return this.requests.find((request) => request.id === id);
  }

  async refresh(): Promise<void> {
    this.set((await this.server.request("ensign/approval/list", {})).approvals);
  }

  /** The views were shown or hidden: what waits may need another place. */
  remind(): void {
    if (this.toasted !== undefined && !this.wantsToast()) void vscode.commands.executeCommand(HIDE_TOASTS);
    void this.toastNext();
  }

  /** Answer, after showing the rule where one would be saved. A question that is closed already is left alone. */
  async answer(id: string, outcome: Outcome, message = ""): Promise<void> {
    const request = this.find(id);
    if (request === undefined) {
      late();
      return;
    }
    if (request.choices.length > 0 && outcome === "allow_once" && message === "") return this.review(request);
    if (outcome === "allow_always" && !(await confirmRules(request))) return;
    const { accepted } = await this.server.request("ensign/approval/answer", { id, outcome, message });
    if (!accepted) late();
  }

  /** Ask with a list that closes by itself when somebody answers elsewhere. */
  async review(request: ApprovalRequest): Promise<void> {
    if (request.choices.length > 0) return this.choose(request);
    if (request.diff !== null) await this.showDiff(request);
    else if (!fitsPick(request)) await this.reports.openText(request.title, request.detail);
    const answer = await this.pick(request);
    if (answer === undefined) return;
    if (answer !== "deny_because") return this.answer(request.id, answer);
    const message = await vscode.window.showInputBox({
      title: inert(request.title),
      prompt: "What should it do instead?",
    });
    if (message !== undefined) await this.answer(request.id, "deny", message);
  }

  /** Let the person choose among the answers to a question, or write another. */
  private async choose(request: ApprovalRequest): Promise<void> {
    const items: (vscode.QuickPickItem & { answer?: string })[] = [
      ...request.choices.map(({ label, description }) => ({ label: inert(label), description, answer: label })),
      { label: OWN_WORDS },
    ];
    const title = inert(`${bracketed(request.tag)} ${request.title}`);
    const chosen = await vscode.window.showQuickPick(items, { title, ignoreFocusOut: true });
    if (chosen === undefined) return;
    const words = chosen.answer ?? (await vscode.window.showInputBox({ title }));
    if (words !== undefined && words.trim() !== "") await this.answer(request.id, "allow_once", words);
  }

  showDiff(request: ApprovalRequest): Promise<void> {
    return this.diffs.show(request);
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private without(id: string): ApprovalRequest[] {
    return this.requests.filter((request) => request.id !== id);
  }

  private set(requests: ApprovalRequest[]): void {
    const closed = this.requests.filter(({ id }) => requests.every((request) => request.id !== id));
    this.requests = requests;
    void this.diffs.close(closed.map(({ id }) => id));
    void vscode.commands.executeCommand("setContext", "ensign.waiting", requests.length > 0);
    this.changed.fire();
    if (this.toasted !== undefined && this.find(this.toasted) === undefined) {
      // No API closes one toast. Hidden ones stay in the notification centre, and a late click there does nothing.
      this.toasted = undefined;
      void vscode.commands.executeCommand(HIDE_TOASTS);
    }
    void this.toastNext();
  }

  private async toastNext(): Promise<void> {
    const request = this.requests.find(({ id }) => !this.seen.has(id));
    if (request === undefined || this.toasted !== undefined || !this.wantsToast()) return;
    this.toasted = request.id;
    this.seen.add(request.id);
    const choice = await vscode.window.showWarningMessage(toastText(request), ...toastButtons(request));
    if (this.toasted === request.id) this.toasted = undefined;
    await this.chosen(request, choice).catch((error: unknown) => void vscode.window.showErrorMessage(String(error)));
    await this.toastNext();
  }

  private wantsToast(): boolean {
    const setting = vscode.workspace.getConfiguration("ensign").get<string>("approvalToasts", "whenHidden");
    return setting === "all" || (setting === "whenHidden" && !this.viewVisible());
  }

  private async chosen(request: ApprovalRequest, choice: string | undefined): Promise<void> {
    if (choice === undefined) return;
    if (choice === SHOW_DIFF || choice === REVIEW) return this.review(request);
    const label = request.choices.find((one) => inert(one.label) === choice)?.label;
    if (label !== undefined) return this.answer(request.id, "allow_once", label);
    const outcome = request.outcomes.find((offered) => OUTCOME_LABELS[offered] === choice);
    if (outcome !== undefined) await this.answer(request.id, outcome);
  }

  private pick(request: ApprovalRequest): Promise<Outcome | "deny_because" | undefined> {
    const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { outcome: Outcome | "deny_because" }>();
    pick.title = inert(`${bracketed(request.tag)} ${request.title}`);
    pick.placeholder = fitsPick(request)
      ? inert(request.detail.trim() || request.reason)
      : "The whole is shown in the editor";
    pick.ignoreFocusOut = true;
    pick.items = [
      ...request.outcomes.map((outcome) => ({
        label: OUTCOME_LABELS[outcome],
        description: MEANING[outcome],
        outcome,
      })),
      {
        label: "Deny and say why…",
        description: "the agent goes on with your words",
        outcome: "deny_because" as const,
      },
    ];
    return new Promise((resolve) => {
      const closed = this.onDidChange(() => {
        if (this.find(request.id) === undefined) pick.hide();
      });
      pick.onDidAccept(() => {
        resolve(pick.selectedItems[0]?.outcome);
        pick.hide();
      });
      pick.onDidHide(() => {
        resolve(undefined);
        closed.dispose();
        pick.dispose();
      });
      pick.show();
    });
  }
}

function toastButtons(request: ApprovalRequest): string[] {
  const deny = OUTCOME_LABELS.deny;
  if (request.choices.length > 0) return [...request.choices.map(({ label }) => inert(label)), REVIEW];
  if (!fitsToast(request)) return [REVIEW, deny];
  if (request.diff === null) return request.outcomes.map((outcome) => OUTCOME_LABELS[outcome]);
  // Five buttons have room. "Always" is offered with the diff, in the chat and in the tree.
  const few = request.outcomes.filter((outcome) => outcome !== "allow_always");
  return [...few.map((outcome) => OUTCOME_LABELS[outcome]), SHOW_DIFF];
}

async function confirmRules({ rules, title }: ApprovalRequest): Promise<boolean> {
  const save = { label: `$(save) Save ${plural(rules.length, "rule")} and allow`, detail: inert(rules.join("   ")) };
  const cancel = { label: "$(close) Do not save" };
  const placeHolder = "From now on, calls that fit are allowed without asking";
  return (
    (await vscode.window.showQuickPick([save, cancel], { title: inert(title), placeHolder, ignoreFocusOut: true })) ===
    save
  );
}

function late(): void {
  void vscode.window.setStatusBarMessage("Ensign: that question was answered already; nothing was changed", 5_000);
}
