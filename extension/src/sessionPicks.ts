/** Quick picks around a chat: which one, which model, which mode. */
import * as vscode from "vscode";
import type { Mode, SessionInfo } from "./protocol";
import type { Server } from "./server";
import type { Sessions } from "./sessions";
import { MODE_LABELS, duration, inert } from "./text";

const MODES: readonly { mode: Mode; detail: string }[] = [
  { mode: "default", detail: "Reads freely; asks before edits, commands and network" },
  { mode: "acceptEdits", detail: "Applies edits in the workspace; asks before commands and network" },
  { mode: "plan", detail: "Reads only, and proposes a plan" },
  { mode: "bypassPermissions", detail: "Asks only what rules and protected paths demand" },
];

interface ChatItem extends vscode.QuickPickItem {
  session?: SessionInfo;
}

/** Choose a chat; each can be deleted from the list. */
export async function pickChat(server: Server, sessions: Sessions): Promise<void> {
  const pick = vscode.window.createQuickPick<ChatItem>();
  const remove: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("trash"), tooltip: "Delete this chat" };
  const load = async (): Promise<void> => {
    const { sessions: known } = await server.request("ensign/session/list", {});
    pick.items = [{ label: "$(add) New chat" }, ...known.map((session) => chatItem(session, sessions.current, remove))];
  };
  pick.title = "Chats";
  pick.placeholder = "Search by name";
  pick.matchOnDescription = true;
  pick.onDidTriggerItemButton(async ({ item }) => {
    if (item.session) await deleteChat(server, sessions, item.session.sessionId);
    await load();
  });
  pick.onDidAccept(() => {
    const [item] = pick.selectedItems;
    pick.hide();
    if (item) void sessions.open(item.session?.sessionId);
  });
  pick.onDidHide(() => pick.dispose());
  pick.busy = true;
  pick.show();
  await load();
  pick.busy = false;
}

function chatItem(session: SessionInfo, current: string | undefined, remove: vscode.QuickInputButton): ChatItem {
  const age = duration(Date.now() / 1000 - session.lastEventAt);
  const now = session.sessionId === current;
  return {
    label: inert(session.title || "Untitled chat"),
    description: `${now ? "this chat" : `${age} ago`} · ${session.cwd}`,
    session,
    buttons: [remove],
  };
}

export async function renameChat(server: Server, sessions: Sessions): Promise<void> {
  const sessionId = await sessions.ensure();
  const { sessions: known } = await server.request("ensign/session/list", {});
  const value = known.find((session) => session.sessionId === sessionId)?.title ?? "";
  const title = await vscode.window.showInputBox({ title: "Rename chat", value, prompt: "What is this chat about?" });
  if (!title?.trim()) return;
  await server.request("ensign/session/rename", { sessionId, title: title.trim() });
  await sessions.refresh();
}

export async function deleteChat(server: Server, sessions: Sessions, sessionId: string): Promise<void> {
  const remove = "Delete";
  const detail = "Its transcripts are removed from this machine. This cannot be undone.";
  const answer = await vscode.window.showWarningMessage("Delete this chat?", { modal: true, detail }, remove);
  if (answer !== remove) return;
  const shown = sessionId === sessions.current;
  await server.request("ensign/session/delete", { sessionId });
  await sessions.forget(sessionId);
  if (shown) await sessions.open();
}

export async function pickModel(server: Server, sessions: Sessions): Promise<void> {
  // Servers on this machine are asked now, and only now: they come and go.
  const listed = server.request("ensign/model/list", { local: true });
  const items = listed.then(({ models, roles }) =>
    models.map(({ id, label, provider, ready, problem }) => ({
      label: ready ? label : `$(warning) ${label}`,
      description: [provider, ...Object.keys(roles).filter((role) => roles[role] === id)].join(" · "),
      detail: ready ? "" : problem,
      id,
      provider,
      ready,
    })),
  );
  const choice = await vscode.window.showQuickPick(items, {
    title: "Model of this chat",
    placeHolder: "Type to search",
    matchOnDescription: true,
  });
  if (choice === undefined) return;
  if (!choice.ready) {
    const set = "Set API Key";
    const steps = choice.detail.startsWith("needs a key") ? [set, "Use anyway"] : ["Use anyway"];
    const answer = await vscode.window.showWarningMessage(`${choice.id} is not ready: ${choice.detail}`, ...steps);
    if (answer === set) await vscode.commands.executeCommand("ensign.setApiKey", choice.provider);
    if (answer === undefined) return;
  }
  await server.request("ensign/session/set", { sessionId: await sessions.ensure(), model: choice.id });
  await sessions.refresh();
}

export async function pickMode(server: Server, sessions: Sessions): Promise<void> {
  const items = MODES.map(({ mode, detail }) => ({
    label: MODE_LABELS[mode] ?? mode,
    description: mode,
    detail,
    mode,
  }));
  const choice = await vscode.window.showQuickPick(items, { title: "What may this chat do without asking?" });
  if (choice === undefined) return;
  await server.request("ensign/session/set", { sessionId: await sessions.ensure(), mode: choice.mode });
  await sessions.refresh();
}
