// Bundles the extension, the chat's page and, with --test, the tests.
import { build, context } from "esbuild";
import { readdir, rm } from "node:fs/promises";

const flags = new Set(process.argv.slice(2));
const production = flags.has("--production");
const common = {
  bundle: true,
  minify: production,
  sourcemap: production ? false : "linked",
  logLevel: "warning",
  target: "es2022",
};

const host = {
  ...common,
  entryPoints: ["src/extension.ts"],
  outdir: "dist",
  platform: "node",
  format: "cjs",
  external: ["vscode"],
  // The client library's main entries are CommonJS; its modules are what we want bundled.
  conditions: ["node"],
};
const page = {
  ...common,
  entryPoints: ["src/views/chat/page/main.ts", "src/views/chat/page/style.css"],
  outdir: "dist/page",
  platform: "browser",
  format: "iife",
  loader: { ".ttf": "file" },
  assetNames: "[name]",
};
const tests = async () => ({
  ...common,
  entryPoints: (await readdir("test")).filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`),
  outdir: "out/test",
  outExtension: { ".js": ".mjs" },
  platform: "node",
  format: "esm",
  packages: "external",
});

if (flags.has("--test")) {
  await rm("out/test", { recursive: true, force: true });
  await build(await tests());
} else if (flags.has("--watch")) {
  for (const options of [host, page]) await (await context(options)).watch();
} else {
  await rm("dist", { recursive: true, force: true });
  await Promise.all([build(host), build(page)]);
}
