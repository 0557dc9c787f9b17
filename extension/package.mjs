// Puts the server, its agents and the packages it needs into `server/`, and all of it into ensign.vsix.
// `node package.mjs TARGET` does so for another platform, into ensign-TARGET.vsix.
import { spawnSync } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { HERE, TARGETS, putWheels } from "./wheels.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("..", import.meta.url));
const clean = (path) => !/__pycache__|\.pyc$/.test(path);

const target = process.argv[2] || HERE;
if (!(target in TARGETS)) {
  process.stderr.write(`no packages are known for ${target}; there are ${Object.keys(TARGETS).join(", ")}\n`);
  process.exit(2);
}
const file = target === HERE ? "ensign.vsix" : `ensign-${target}.vsix`;

// As in a wheel: the agents travel inside the package.
await rm(`${here}server`, { recursive: true, force: true });
await mkdir(`${here}server`);
await cp(`${root}server/ensign`, `${here}server/ensign`, { recursive: true, filter: clean });
await cp(`${root}agents`, `${here}server/ensign/_agents`, { recursive: true, filter: clean });
await writeFile(`${here}server/__main__.py`, RUN());
await putWheels(target, `${here}server/wheels`);
for (const name of ["LICENSE", "CHANGELOG.md"]) await cp(`${root}${name}`, `${here}${name}`);

const { version } = JSON.parse(await readFile(`${here}package.json`, "utf8"));
const vsce = [
  "vsce",
  "package",
  "--no-dependencies",
  "--skip-license",
  "--allow-missing-repository",
  "--target",
  target,
  "-o",
  file,
];
const { status } = spawnSync("npx", ["--no-install", ...vsce], { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
if (status !== 0) process.exit(status ?? 1);
process.stdout.write(`extension/${file}: Ensign ${version} for ${target}\n`);
const others = Object.keys(TARGETS).filter((name) => name !== target);
process.stdout.write(`For another platform: make vsix TARGET=${others.join(" | ")}\n`);

function RUN() {
  return `"""Run the server that travels with the extension: \`python server serve --stdio\`."""

import runpy

runpy.run_module("ensign", run_name="__main__")
`;
}
