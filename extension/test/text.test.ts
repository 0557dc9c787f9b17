import assert from "node:assert/strict";
import { test } from "node:test";
import { pathLinks } from "../src/links";
import type { ApprovalRequest } from "../src/protocol";
import { count, duration, fitsToast, taskLine, toastText, visible } from "../src/text";
import { task } from "./helpers";

const asked = (detail: string, tag = "Explore · find the parser"): ApprovalRequest => ({
  id: "a",
  sessionId: "s",
  agentId: "g",
  taskId: "t",
  tag,
  color: null,
  tool: "Bash",
  title: "Run a command",
  detail,
  reason: "",
  parts: [],
  rules: [],
  outcomes: ["allow_once", "deny"],
  diff: null,
  since: 0,
  choices: [],
  callId: "",
});

test("references are found where they stand, and other colons are none", () => {
  const text = "See src/a.py:12, `lib/b-c.ts:3-9` and Makefile:4; not 12:30, https://x.org:80/a or note:3.";
  assert.deepEqual(
    pathLinks(text).map(({ start, end, path, line, endLine }) => [text.slice(start, end), path, line, endLine]),
    [
      ["src/a.py:12", "src/a.py", 12, undefined],
      ["lib/b-c.ts:3-9", "lib/b-c.ts", 3, 9],
      ["Makefile:4", "Makefile", 4, undefined],
    ],
  );
});

test("figures are short", () => {
  assert.deepEqual([0, 999, 1234, 45_600, 999_600].map(count), ["0", "999", "1.2k", "46k", "1M"]);
  assert.deepEqual([5, 60, 65, 3600, 7800].map(duration), ["5 s", "1 min", "1 min 5 s", "1 h", "2 h 10 min"]);
});

test("a quiet task says for how long", () => {
  assert.equal(taskLine(task({ activity: "reading a.py" }), 110), "reading a.py");
  assert.equal(taskLine(task({ activity: "reading a.py" }), 145), "reading a.py · quiet for 45 s");
});

test("a toast shows all that would happen, or asks for a review", () => {
  assert.equal(toastText(asked("ls -l")), "[Explore · find the parser] Run a command: ls -l");
  const long = `ls${" ".repeat(400)}; touch CANARY`;
  assert.equal(fitsToast(asked(long)), false);
  assert.equal(fitsToast(asked("ls\ntouch CANARY")), false);
  assert.equal(
    toastText(asked("ls\nrm x")),
    "[Explore · find the parser] Run a command (2 lines, review before answering)",
  );
});

test("nothing that a model wrote becomes a link or an icon of the workbench", () => {
  assert.equal(
    toastText(asked("echo [Allow](command:x) $(check)")),
    "[Explore · find the parser] Run a command: echo [Allow] (command:x) $ (check)",
  );
});

test("names that a folder brings show what cannot be seen in them", () => {
  assert.equal(visible("a\u202eb\n\u200bc.md é 漢"), "a⟨U+202E⟩b⟨U+000A⟩⟨U+200B⟩c.md é 漢");
});
