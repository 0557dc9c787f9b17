/** Values for tests, with what a test says nothing about filled in. */
import type { Event, EventNotification, SessionOpened, Snapshot, TaskRecord } from "../src/protocol";

export const SESSION = "session-1";
const NO_USAGE = { input: 0, output: 0, cacheWrite: 0, cacheRead: 0 };

export function task(fields: Partial<TaskRecord>): TaskRecord {
  return {
    id: "task-1",
    shortId: "t1",
    sessionId: SESSION,
    name: null,
    agent: "Explore",
    description: "find the parser",
    parentAgentId: "main",
    parentTaskId: null,
    agentId: "agent-1",
    callId: null,
    depth: 1,
    color: null,
    state: "running",
    reason: "",
    background: false,
    waitingFor: null,
    waitingSince: null,
    createdAt: 100,
    startedAt: 100,
    endedAt: null,
    lastEventAt: 100,
    activity: "",
    summary: "",
    steps: 0,
    toolCalls: 0,
    usage: NO_USAGE,
    reportTokens: 0,
    model: "offline",
    filesChanged: [],
    outputFile: "",
    worktree: null,
    resumable: true,
    team: null,
    envelope: null,
    ...fields,
  };
}

export function opened(fields: Partial<Snapshot> = {}, seq = 0): SessionOpened {
  const info = { sessionId: SESSION, title: "", cwd: "/w", createdAt: 0, lastEventAt: 0, open: true };
  const snapshot: Snapshot = {
    info,
    mode: "default",
    model: "offline",
    entries: [],
    partial: [],
    tasks: [],
    approvals: [],
    todos: [],
    turnId: null,
    queued: [],
    usage: NO_USAGE,
    ...fields,
  };
  return { sessionId: SESSION, snapshot, seq };
}

type WithoutWho<E> = E extends Event ? Omit<E, "agentId" | "taskId"> : never;

/** An event of the main agent. */
export function main(event: WithoutWho<Event>): Event {
  return { agentId: "main", taskId: null, ...event };
}

export function numbered(events: Event[], from = 1): EventNotification[] {
  return events.map((event, index) => ({ sessionId: SESSION, seq: from + index, event }));
}
