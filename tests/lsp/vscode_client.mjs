// The library under VS Code's language client, with the ways of calling that break servers: prints what came as JSON.
// node vscode_client.mjs MODULES COMMAND...
import { spawn } from "node:child_process";
import { createRequire } from "node:module";

const [modules, command, ...args] = process.argv.slice(2);
const { createMessageConnection, CancellationTokenSource, StreamMessageReader, StreamMessageWriter } = createRequire(
  `${modules}/`,
)("vscode-jsonrpc/node");

const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const connection = createMessageConnection(
  new StreamMessageReader(server.stdout),
  new StreamMessageWriter(server.stdin),
);
const seen = { events: 0, errors: [] };
connection.onError(([error]) => seen.errors.push(String(error)));
connection.onNotification("ensign/event", () => (seen.events += 1));
connection.onRequest("window/showMessageRequest", () => null);
connection.listen();

const settled = (promise) => promise.then((result) => ({ result }), ({ code, message }) => ({ code, message }));

await connection.sendRequest("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
await connection.sendNotification("initialized", {});
seen.without = await settled(connection.sendRequest("ensign/session/list"));
seen.withNull = await settled(connection.sendRequest("ensign/session/list", null));
seen.withUndefined = await settled(connection.sendRequest("ensign/session/list", undefined));
seen.withText = await settled(connection.sendRequest("ensign/session/open", "/project"));
const message = { jsonrpc: "2.0", id: 1, method: "tools/call" };
seen.nested = await settled(connection.sendRequest("ensign/turn/start", { sessionId: "s1", text: "x", message }));
seen.printed = await settled(connection.sendRequest("ensign/turn/start", { sessionId: "s1", text: "print" }));
seen.child = await settled(connection.sendRequest("ensign/turn/start", { sessionId: "s1", text: "child" }));
seen.deltas = await settled(connection.sendRequest("ensign/turn/start", { sessionId: "s1", text: "deltas 2000" }));
const source = new CancellationTokenSource();
const waiting = settled(connection.sendRequest("ensign/turn/start", { sessionId: "s1", text: "wait" }, source.token));
source.cancel();
seen.cancelled = await waiting;
seen.shutdown = await settled(connection.sendRequest("shutdown"));
seen.late = (await settled(connection.sendRequest("ensign/session/list"))).code;
const ended = new Promise((resolve) => server.on("exit", resolve));
await connection.sendNotification("exit");
seen.code = await ended;
process.stdout.write(JSON.stringify(seen));
