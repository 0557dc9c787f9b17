/** The settings a person made, as the server reads them. */
import * as vscode from "vscode";

type Json = Record<string, unknown>;

/**
 * Return what was set under `ensign.`, nested. Defaults are left out: a project's settings file is further away than
 * the editor's settings, but nearer than a default.
 */
export function madeSettings(keys: readonly string[]): Json {
  const configuration = vscode.workspace.getConfiguration("ensign");
  const made: Json = {};
  for (const key of keys) {
    const found = configuration.inspect(key);
    const set = found?.globalValue ?? found?.workspaceValue ?? found?.workspaceFolderValue;
    if (set !== undefined) put(made, key.split("."), configuration.get(key));
  }
  return made;
}

/** Return the names, without `ensign.`, that the manifest declares. */
export function settingNames(manifest: unknown): string[] {
  const { contributes } = manifest as { contributes: { configuration: { properties: Json } } };
  return Object.keys(contributes.configuration.properties).map((name) => name.replace(/^ensign\./, ""));
}

function put(into: Json, path: string[], value: unknown): void {
  const [head = "", ...rest] = path;
  if (rest.length === 0) {
    into[head] = value;
    return;
  }
  const inner = (into[head] ?? {}) as Json;
  into[head] = inner;
  put(inner, rest, value);
}
