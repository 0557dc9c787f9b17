/** The server's own Python environment: made once from the wheels that travel with the extension, without a network. */
import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { access, mkdir, readFile, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const MAKE_TIMEOUT_MS = 180_000;

/** Where the packages are, and where environments may be made. */
export interface Places {
  /** The folder of the server that travels with the extension. */
  bundle: string;
  /** A folder of the extension's own, outside of it and of any workspace. */
  storage: string;
}

/** Whether packages travel with this build: one made by hand has none. */
export async function hasPackages(bundle: string): Promise<boolean> {
  return exists(join(bundle, "wheels", "requirements.txt"));
}

/**
 * Return the interpreter of the environment for this Python, making it where it is not there.
 *
 * What is half made is never used: it gets its name when it is whole, and of two windows that make it the first wins.
 *
 * @param version of `python`, as `3.11`: wheels are of one version each.
 * @param making called when it has to be made, which takes some seconds.
 */
export async function environmentFor(
  python: string,
  version: string,
  places: Places,
  making: () => void,
): Promise<string> {
  const wheels = join(places.bundle, "wheels");
  const requirements = await readFile(join(wheels, "requirements.txt"), "utf8");
  const key = createHash("sha256").update(requirements).digest("hex").slice(0, 12);
  const folder = join(places.storage, `python-${version}-${key}`);
  if (await works(interpreterIn(folder))) return interpreterIn(folder);
  making();
  const building = `${folder}.${randomUUID()}`;
  try {
    await mkdir(places.storage, { recursive: true });
    // Without pip: Debian's Python cannot install it, and the one that travels with us does.
    await run(python, ["-I", "-m", "venv", "--without-pip", building], quietly);
    const pip = (await readdir(wheels)).find((name) => name.startsWith("pip-"));
    if (pip === undefined) throw new Error(`there is no pip in ${wheels}`);
    // -I and --isolated: neither the person's PYTHONPATH nor their pip settings have a say in what is installed.
    await run(
      interpreterIn(building),
      ["-I", join(wheels, pip, "pip"), "install", "--isolated", "--no-index", "--find-links", wheels, ...QUIET].concat(
        "-r",
        join(wheels, "requirements.txt"),
      ),
      quietly,
    );
    await take(building, folder);
  } catch (error) {
    await rm(building, { recursive: true, force: true });
    throw error;
  }
  return interpreterIn(folder);
}

const QUIET = ["--quiet", "--disable-pip-version-check", "--no-warn-script-location"];
const quietly = { timeout: MAKE_TIMEOUT_MS, windowsHide: true };

/** Give the environment its name; one that does not work has to go, one that another window just made stays. */
async function take(building: string, folder: string): Promise<void> {
  if (await works(interpreterIn(folder))) {
    await rm(building, { recursive: true, force: true });
    return;
  }
  await rm(folder, { recursive: true, force: true });
  await rename(building, folder);
}

/** Whether an environment is there and its Python still is: one that was uninstalled leaves a dead link. */
async function works(python: string): Promise<boolean> {
  if (!(await exists(python))) return false;
  try {
    await run(python, ["-I", "-c", "import sys"], quietly);
    return true;
  } catch {
    return false;
  }
}

function interpreterIn(folder: string): string {
  return process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
