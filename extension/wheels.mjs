// Fetches what the server needs, as wheels for one platform and every Python that it runs on.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const python = `${root}.venv/bin/python`;

/** The versions of Python whose binary wheels travel with the extension. */
const PYTHONS = ["3.11", "3.12", "3.13", "3.14"];
/** Installs the others on machines whose Python comes without it, as Debian's does. */
const PIP = "pip==26.3";

const manylinux = (machine) => ["manylinux_2_28", "manylinux_2_17", "manylinux2014"].map((age) => `${age}_${machine}`);
/** Platforms as VS Code names them, with the tags that pip looks for. */
export const TARGETS = {
  "linux-x64": manylinux("x86_64"),
  "linux-arm64": manylinux("aarch64"),
  "darwin-x64": ["macosx_12_0_x86_64"],
  "darwin-arm64": ["macosx_12_0_arm64"],
};
export const HERE = `${process.platform}-${process.arch}`;

/** Put the wheels and `requirements.txt` into a folder; they are fetched once and kept in `.cache/`. */
export async function putWheels(target, folder) {
  const requirements = pythonSays(
    "import sys, tomllib; print('\\n'.join(tomllib.load(open(sys.argv[1], 'rb'))['project']['dependencies']))",
    `${root}pyproject.toml`,
  );
  const cache = `${root}.cache/wheels/${target}`;
  const key = createHash("sha256")
    .update([requirements, PIP, ...PYTHONS].join("\n"))
    .digest("hex");
  if ((await readFile(`${cache}/key`, "utf8").catch(() => "")) !== key) {
    await rm(cache, { recursive: true, force: true });
    await mkdir(cache, { recursive: true });
    await writeFile(`${cache}/requirements.txt`, requirements);
    download(["--no-deps", PIP], cache);
    for (const version of PYTHONS) {
      const tags = TARGETS[target].flatMap((tag) => ["--platform", tag]);
      const which = ["--only-binary=:all:", "--implementation", "cp", "--python-version", version, ...tags];
      download([...which, "-r", `${cache}/requirements.txt`], cache);
    }
    await writeFile(`${cache}/key`, key);
  }
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(cache)) if (name !== "key") await cp(`${cache}/${name}`, `${folder}/${name}`);
}

function download(what, folder) {
  const args = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", folder, ...what];
  const { status } = spawnSync(python, args, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`pip could not fetch ${what.at(-1)}`);
}

function pythonSays(script, ...args) {
  const { status, stdout } = spawnSync(python, ["-c", script, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error("the project's Python environment is missing: make venv");
  return stdout;
}
