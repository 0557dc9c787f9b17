/** Find a Python that can run the server. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as vscode from "vscode";

const run = promisify(execFile);
const PROBE_TIMEOUT_MS = 15_000;

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

/** Return the first interpreter that can run the server: the setting, the Python extension's choice, the path. */
export async function findLaunch(extension: vscode.Uri): Promise<Launch> {
  const setting = vscode.workspace.getConfiguration("ensign").get("server.python", "").trim();
  const bundle = await bundledServer(extension);
  const tried: string[] = [];
  const candidates = setting ? [{ python: setting, origin: "ensign.server.python" }] : await found();
  for (const candidate of candidates) {
    const problem = await probe(candidate.python, bundle, extension.fsPath);
    if (problem === undefined) {
      // -P: a folder's own `ensign` or `json` module is never imported in the server's place.
      return { python: candidate.python, args: bundle === undefined ? ["-P", "-m", "ensign"] : [bundle] };
    }
    tried.push(`${candidate.python} (${candidate.origin}): ${problem}`);
  }
  const message = setting
    ? `The interpreter in the setting ensign.server.python cannot run Ensign: ${tried[0] ?? setting}`
    : "No Python 3.11 or newer with the ensign package was found; install it or set ensign.server.python";
  throw new NoInterpreter(message, tried);
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
  for (const python of process.platform === "win32" ? ["python"] : ["python3", "python"]) {
    candidates.push({ python, origin: "path" });
  }
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

/**
 * Return why this interpreter cannot run the server, or undefined. A few packages stand for all that the server needs:
 * they come together, and looking for them without importing them costs no time at each start.
 */
async function probe(python: string, bundle: string | undefined, cwd: string): Promise<string | undefined> {
  const script = [
    "import sys",
    "assert sys.version_info >= (3, 11), 'Python ' + sys.version.split()[0] + ' is older than 3.11'",
    ...(bundle === undefined ? ["import ensign"] : [`sys.path.insert(0, ${JSON.stringify(bundle)})`, "import ensign"]),
    "import importlib.util as u",
    "missing = [m for m in ('pygls', 'pydantic', 'httpcore', 'yaml', 'tree_sitter') if u.find_spec(m) is None]",
    "assert not missing, 'missing packages: ' + ', '.join(missing)",
  ].join("\n");
  try {
    // The extension's own folder, because `-c` imports from where it runs.
    await run(python, ["-c", script], { cwd, timeout: PROBE_TIMEOUT_MS, windowsHide: true });
    return undefined;
  } catch (error) {
    return lastLine(error);
  }
}

/** The last line of a traceback says it; a program that is no Python says nothing. */
function lastLine(error: unknown): string {
  const { stderr, code } = error as { stderr?: string; code?: string | number };
  const last = (stderr ?? "").trim().split(/\r?\n/).at(-1) ?? "";
  if (last) return last.replace(/^\w+Error: /, "");
  return code === "ENOENT" ? "there is no such program" : `it does not run Python (${code ?? "no exit code"})`;
}
