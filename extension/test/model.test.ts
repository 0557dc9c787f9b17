import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatEntry, Event } from "../src/protocol";
import { ChatModel } from "../src/views/chat/page/model";
import { SESSION, main, numbered, opened, task } from "./helpers";

type Message = NonNullable<ChatEntry["message"]>;

const call = { callId: "c1", name: "Read", arguments: { file_path: "a.py" }, raw: "{}", kind: "tool_call" as const };
const agentCall = { ...call, callId: "c2", name: "Agent", arguments: { description: "find the parser" } };

function said(...parts: Extract<Message, { kind: "assistant" }>["parts"]): Event {
  return main({ kind: "message_added", message: { kind: "assistant", parts } });
}

function played(...events: Event[]): ChatModel {
  const model = new ChatModel();
  model.reset(opened());
  for (const event of numbered(events)) assert.equal(model.apply(event), true);
  return model;
}

const delta = (text: string): Event => main({ kind: "text_delta", turnId: "t", text });
const brief = (model: ChatModel): unknown[] =>
  model.rows.map((row) =>
    "text" in row ? [row.kind, row.text] : row.kind === "tool" ? [row.kind, row.state, row.taskId] : [row.kind],
  );

test("deltas grow one row, and the message takes its place", () => {
  const model = played(delta("Hel"), delta("lo"));
  const key = model.rows[0]?.key;
  assert.deepEqual(model.rows, [{ kind: "text", key, text: "Hello", streaming: true }]);
  model.apply({ sessionId: SESSION, seq: 3, event: said({ kind: "text", text: "Hello!" }) });
  assert.deepEqual(model.rows, [{ kind: "text", key, text: "Hello!", streaming: false }]);
});

test("a restarted step loses its deltas and nothing else", () => {
  const restart = main({ kind: "step_restarted", turnId: "t", step: 1, reason: "stalled" });
  const model = played(said({ kind: "text", text: "kept" }), delta("lost"), restart, delta("anew"));
  assert.deepEqual(brief(model), [
    ["text", "kept"],
    ["text", "anew"],
  ]);
});

test("each call has one row, from the model's words to its result", () => {
  const started = main({ kind: "tool_started", turnId: "t", call, activity: "reading a.py" });
  const model = played(said({ kind: "text", text: "I look." }, call), started);
  assert.deepEqual(brief(model), [
    ["text", "I look."],
    ["tool", "running", null],
  ]);
  const finished = main({
    kind: "tool_finished",
    turnId: "t",
    callId: "c1",
    tool: "Read",
    text: "no",
    isError: true,
    deniedBy: "you",
    target: "",
    diff: null,
    files: [],
    command: null,
  });
  model.apply({ sessionId: SESSION, seq: 3, event: finished });
  assert.deepEqual(brief(model), [
    ["text", "I look."],
    ["tool", "denied", null],
  ]);
});

test("a subagent's card stands at the call that started it; a person's has a row of its own", () => {
  const model = played(
    said(call, agentCall),
    main({ kind: "task_changed", record: task({ callId: "c2" }) }),
    main({ kind: "task_changed", record: task({ id: "task-2", parentAgentId: null }) }),
    main({ kind: "task_changed", record: task({ callId: "c2", state: "completed" }) }),
  );
  assert.deepEqual(brief(model), [["tool", "pending", null], ["tool", "pending", "task-1"], ["task"]]);
  assert.equal(model.tasks.get("task-1")?.state, "completed");
});

test("a gap asks for the snapshot, and what came after it is not lost", () => {
  const model = played(delta("a"));
  assert.equal(model.apply({ sessionId: SESSION, seq: 4, event: delta("d") }), false);
  model.reset(opened({ partial: [{ agentId: "main", text: "abc", thinking: "" }] }, 3));
  assert.deepEqual(brief(model), [["text", "abcd"]]);
});

test("events of another session and events that were heard change nothing", () => {
  const model = played(delta("a"));
  assert.equal(model.apply({ sessionId: "other", seq: 2, event: delta("b") }), true);
  assert.equal(model.apply({ sessionId: SESSION, seq: 1, event: delta("b") }), true);
  assert.deepEqual(brief(model), [["text", "a"]]);
});

test("a snapshot and the events it stands for draw the same picture", () => {
  const user: Message = {
    kind: "user",
    text: "go\n\n<context>\n- /w/a.py:1-2\n```\n- no place\n```\n</context>",
    images: [],
    origin: "person",
    delivers: [],
  };
  const result: Message = {
    kind: "tool",
    results: [{ callId: "c1", text: "ok", isError: false, images: [] }],
    note: "",
    delivers: [],
  };
  const messages: Message[] = [user, { kind: "assistant", parts: [{ kind: "text", text: "I look." }, call] }, result];
  const live = played(...messages.map((message) => main({ kind: "message_added", message })));
  const later = new ChatModel();
  later.reset(opened({ entries: messages.map((message) => ({ message, event: null })) }));
  const plain = (model: ChatModel): unknown => model.rows.map((row) => ({ ...row, key: "" }));
  assert.deepEqual(plain(later), plain(live));
  assert.deepEqual(later.rows[0], { kind: "user", key: later.rows[0]?.key, text: "go", places: ["/w/a.py:1-2"] });
});

test("a turn that runs is running after its past has been played", () => {
  const ended = main({ kind: "turn_ended", turnId: "t1", stop: "cancelled", reason: "" });
  const model = new ChatModel();
  model.reset(opened({ entries: [{ message: null, event: ended }], turnId: "t2", queued: ["next"] }));
  assert.equal(model.turnId, "t2");
  assert.deepEqual(model.queued, ["next"]);
});

test("a queued message leaves the queue when it joins the conversation", () => {
  const model = played(main({ kind: "turn_started", turnId: "t" }));
  model.queue("and then?");
  model.apply({
    sessionId: SESSION,
    seq: 2,
    event: main({
      kind: "message_added",
      message: { kind: "user", text: "and then?", images: [], origin: "person", delivers: [] },
    }),
  });
  assert.deepEqual(model.queued, []);
  assert.deepEqual(brief(model), [["user", "and then?"]]);
});
