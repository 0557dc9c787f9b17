import assert from "node:assert/strict";
import { test } from "node:test";
import type { FolderTrust, TrustFile } from "../src/protocol";
import { trustHtml } from "../src/views/trust/html";

const file = (changes: Partial<TrustFile> = {}): TrustFile => ({
  kind: "mcp",
  name: ".mcp.json",
  path: "/w/.mcp.json",
  hash: "sha256:1",
  asks: ["starts the MCP server x"],
  content: "{}",
  trusted: false,
  changed: false,
  ...changes,
});
const folder = (files: TrustFile[], changes: Partial<FolderTrust> = {}): FolderTrust => ({
  path: "/w",
  trusted: false,
  restricted: false,
  notice: "",
  files,
  ...changes,
});
const buttons = (html: string): string[] =>
  [...html.matchAll(/<a [^>]*>([^<]*)<\/a>/g)].map(([, label]) => label ?? "");

test("whatever others wrote is text on the page", () => {
  const evil = `<img src=x onerror=alert(1)><a href="command:x">"'&`;
  const html = trustHtml([folder([file({ name: evil, asks: [evil], content: evil })], { path: evil })], "t");
  assert.ok(!html.includes("<img") && !html.includes('href="command:x"'));
  assert.equal(html.split("&lt;img src=x onerror=alert(1)&gt;").length - 1, 5);
  assert.ok(html.includes("default-src 'none'") && !html.includes("<script"));
});

test("the buttons are those that make sense", () => {
  assert.deepEqual(buttons(trustHtml([folder([])], "t")), ["Close"]);
  assert.deepEqual(buttons(trustHtml([folder([file(), file()])], "t")), ["Trust these 2 files", "Not now"]);
  assert.deepEqual(buttons(trustHtml([folder([file({ trusted: true })], { trusted: true })], "t")), [
    "Stop trusting this folder",
    "Close",
  ]);
  assert.deepEqual(buttons(trustHtml([folder([file()], { restricted: true })], "t")), [
    "Trust this workspace in the editor…",
    "Not now",
  ]);
});
