/** Find a Python that can run the server. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { environmentFor, hasPackages } from "./environment";

const run = promisify(execFile);
const PROBE_TIMEOUT_MS = 15_000;
/** Where the system's own `python3` is too old, a newer one often stands beside it. */
const NEWER = [14, 13, 12, 11];

/** How to run the server: an interpreter, and the arguments before `serve`. */
export interface Launch {
  python: string;
  args: string[];
}

interface Candidate {
  python: string;
  origin: string;
}

/** No interpreter can run the server. The message says what to do; `tried` says what failed, one line each. */
export class NoInterpreter extends Error {
  constructor(
    message: string,
    readonly tried: string[],
  ) {
    super(message);
  }
}

/**
 * Return how to run the server.
 *
 * A Python that the person set and that has all the server needs runs it as it is. Any other one, also those found
 * (the Python extension's choice, then the path), only serves to make an environment of the server's own.
 *
 * @param making called when that environment has to be made, which takes some seconds.
 */
export async function findLaunch(context: vscode.ExtensionContext, making: () => void): Promise<Launch> {
  const setting = vscode.workspace.getConfiguration("ensign").get("server.python", "").trim();
  const bundle = await bundledServer(context.extensionUri);
  const tried: string[] = [];
  const candidates = setting ? [{ python: setting, origin: "ensign.server.python" }] : await found();
  for (const candidate of candidates) {
    try {
      const python = await fitting(candidate, { context, bundle, making, asItIs: setting !== "" });
      // -P: a folder's own `ensign` or `json` module is never imported in the server's place.
      return { python, args: bundle === undefined ? ["-P", "-m", "ensign"] : [bundle] };
    } catch (error) {
      tried.push(`${candidate.python} (${candidate.origin}): ${lastLine(error)}`);
    }
  }
  const message = setting
    ? `The interpreter in the setting ensign.server.python cannot run Ensign: ${tried[0] ?? setting}`
    : "No Python 3.11 or newer was found; install it or set ensign.server.python";
  throw new NoInterpreter(message, tried);
}

interface Wanted {
  context: vscode.ExtensionContext;
  bundle: string | undefined;
  making: () => void;
  asItIs: boolean;
}

/** Return an interpreter that runs the server: this one, or that of an environment made of it; else throw why not. */
async function fitting({ python }: Candidate, { context, bundle, making, asItIs }: Wanted): Promise<string> {
  const version = await versionOf(python, context.extensionPath);
  if (bundle === undefined || !(await hasPackages(bundle))) {
    await check(python, bundle, context.extensionPath);
    return python;
  }
  if (asItIs) {
    try {
      await check(python, bundle, context.extensionPath);
      return python;
    } catch {
      // It lacks packages: they are with us.
    }
  }
  return environmentFor(python, version, { bundle, storage: context.globalStorageUri.fsPath }, making);
}

async function bundledServer(extension: vscode.Uri): Promise<string | undefined> {
  const folder = vscode.Uri.joinPath(extension, "server");
  try {
    await vscode.workspace.fs.stat(vscode.Uri.joinPath(folder, "__main__.py"));
    return folder.fsPath;
  } catch {
    return undefined;
  }
}

async function found(): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  // A folder's own environment is code of that folder: only where the person trusts it.
  if (vscode.workspace.isTrusted) {
    const selected = await selectedByPythonExtension();
    if (selected !== undefined) candidates.push({ python: selected, origin: "Python extension" });
  }
  const names =
    process.platform === "win32" ? ["python"] : ["python3", "python", ...NEWER.map((minor) => `python3.${minor}`)];
  for (const python of names) candidates.push({ python, origin: "path" });
  return candidates;
}

/** The part of the Python extension's API that we use. */
interface PythonApi {
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(of: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

async function selectedByPythonExtension(): Promise<string | undefined> {
  const python = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  if (python === undefined) return undefined;
  try {
    const { environments } = await python.activate();
    const active = environments.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri);
    return (await environments.resolveEnvironment(active))?.executable.uri?.fsPath;
  } catch {
    return undefined;
  }
}

/** Return the version of a Python as `3.11`; throw if it is too old or no Python. */
async function versionOf(python: string, cwd: string): Promise<string> {
  const script = [
    "import sys",
    "assert sys.version_info >= (3, 11), 'Python ' + sys.version.split()[0] + ' is older than 3.11'",
    "print('%d.%d' % sys.version_info[:2])",
  ].join("\n");
  // The extension's own folder, because `-c` imports from where it runs.
  const { stdout } = await run(python, ["-c", script], { cwd, timeout: PROBE_TIMEOUT_MS, windowsHide: true });
  return stdout.trim();
}

/**
 * Throw if this interpreter lacks what the server needs. A few packages stand for all of them: they come together, and
 * looking for them without importing them costs no time at each start.
 */
async function check(python: string, bundle: string | undefined, cwd: string): Promise<void> {
  const script = [
    "import sys",
    ...(bundle === undefined ? ["import ensign"] : [`sys.path.insert(0, ${JSON.stringify(bundle)})`, "import ensign"]),
    "import importlib.util as u",
    "missing = [m for m in ('pygls', 'pydantic', 'httpcore', 'yaml', 'tree_sitter') if u.find_spec(m) is None]",
    "assert not missing, 'missing packages: ' + ', '.join(missing)",
  ].join("\n");
  await run(python, ["-c", script], { cwd, timeout: PROBE_TIMEOUT_MS, windowsHide: true });
}

/** The last line of a traceback says it; a program that is no Python says nothing. */
function lastLine(error: unknown): string {
  const { stderr, code, message } = error as { stderr?: string; code?: string | number; message?: string };
  const last = (stderr ?? message ?? "").trim().split(/\r?\n/).at(-1) ?? "";
  if (last) return last.replace(/^\w+Error: /, "");
  return code === "ENOENT" ? "there is no such program" : `it does not run Python (${code ?? "no exit code"})`;
}
