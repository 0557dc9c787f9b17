/** Keys of model providers: kept in the editor's secret store, handed to the server by message, never by file. */
import * as vscode from "vscode";
import type { Server } from "./server";

const PROVIDERS = [
  { label: "Anthropic", id: "anthropic", description: "Claude models" },
  { label: "OpenAI", id: "openai", description: "or a compatible server" },
] as const;

export class Secrets implements vscode.Disposable {
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly server: Server,
    private readonly store: vscode.SecretStorage,
  ) {
    this.subscription = server.onDidChangeState(({ kind }) => {
      if (kind === "ready") void this.hand(this.providers());
    });
  }

  /** Ask for a key: of this provider or, where nobody says whose, of the one that the person picks. */
  async ask(of?: string): Promise<void> {
    const provider = of ?? (await this.pick("Whose key do you want to set?"));
    if (provider === undefined) return;
    const key = await vscode.window.showInputBox({
      title: `API key for ${provider}`,
      prompt: "Kept in the editor's secret store and sent only to the Ensign server on this machine.",
      password: true,
      ignoreFocusOut: true,
      validateInput: (text) => (/\s/.test(text.trim()) ? "A key has no spaces" : undefined),
    });
    if (!key?.trim()) return;
    await this.store.store(name(provider), key.trim());
    await this.hand([provider]);
    void vscode.window.setStatusBarMessage(`Ensign: the key for ${provider} is set`, 5_000);
  }

  async clear(): Promise<void> {
    const provider = await this.pick("Whose key do you want to remove?");
    if (provider === undefined) return;
    await this.store.delete(name(provider));
    if (this.server.supports("ensign/model/key")) await this.server.request("ensign/model/key", { provider, key: "" });
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private async hand(providers: readonly string[]): Promise<void> {
    if (!this.server.supports("ensign/model/key")) return;
    for (const provider of providers) {
      const key = await this.store.get(name(provider));
      if (key !== undefined) await this.server.request("ensign/model/key", { provider, key });
    }
  }

  private async pick(placeHolder: string): Promise<string | undefined> {
    const own = this.providers()
      .filter((id) => PROVIDERS.every((known) => known.id !== id))
      .map((id) => ({ label: id, id, description: "from your settings" }));
    return (await vscode.window.showQuickPick([...PROVIDERS, ...own], { placeHolder }))?.id;
  }

  private providers(): string[] {
    const settings = vscode.workspace.getConfiguration("ensign").get<Record<string, unknown>>("models.providers", {});
    return [...new Set([...PROVIDERS.map(({ id }) => id), ...Object.keys(settings)])];
  }
}

function name(provider: string): string {
  return `key.${provider}`;
}
