// Puts the server and its agents into `server/`, and all of it into ensign.vsix.
import { spawnSync } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("..", import.meta.url));
const clean = (path) => !/__pycache__|\.pyc$/.test(path);

// As in a wheel: the agents travel inside the package.
await rm(`${here}server`, { recursive: true, force: true });
await mkdir(`${here}server`);
await cp(`${root}server/ensign`, `${here}server/ensign`, { recursive: true, filter: clean });
await cp(`${root}agents`, `${here}server/ensign/_agents`, { recursive: true, filter: clean });
await writeFile(`${here}server/__main__.py`, RUN());
for (const name of ["LICENSE", "CHANGELOG.md"]) await cp(`${root}${name}`, `${here}${name}`);

const { version } = JSON.parse(await readFile(`${here}package.json`, "utf8"));
const vsce = [
  "vsce",
  "package",
  "--no-dependencies",
  "--skip-license",
  "--allow-missing-repository",
  "-o",
  "ensign.vsix",
];
const { status } = spawnSync("npx", ["--no-install", ...vsce], { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
if (status !== 0) process.exit(status ?? 1);
process.stdout.write(`ensign.vsix ${version}\n`);

function RUN() {
  return `"""Run the server that travels with the extension: \`python server serve --stdio\`."""

import runpy

runpy.run_module("ensign", run_name="__main__")
`;
}
