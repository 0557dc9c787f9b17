/** The last calls of each subagent, as heard in this window; the transcript has all of them. */
import type { Event } from "../protocol";

export interface CallSeen {
  id: string;
  activity: string;
  state: "running" | "done" | "failed" | "denied";
  diff: string | null;
}

const KEPT_PER_TASK = 100;

export class Calls {
  private readonly byTask = new Map<string, CallSeen[]>();

  of(task: string): readonly CallSeen[] {
    return this.byTask.get(task) ?? [];
  }

  /** Take note of an event; true when there is something new to show. */
  hear(event: Event): boolean {
    if (event.taskId === null) return false;
    const calls = this.byTask.get(event.taskId) ?? [];
    if (event.kind === "tool_started") {
      calls.push({ id: event.call.callId, activity: event.activity || event.call.name, state: "running", diff: null });
      this.byTask.set(event.taskId, calls.slice(-KEPT_PER_TASK));
      return true;
    }
    if (event.kind === "tool_finished") {
      const state = event.deniedBy !== null ? "denied" : event.isError ? "failed" : "done";
      const call = calls.find(({ id }) => id === event.callId);
      if (call) Object.assign(call, { state, diff: event.diff });
      else calls.push({ id: event.callId, activity: event.tool, state, diff: event.diff });
      this.byTask.set(event.taskId, calls.slice(-KEPT_PER_TASK));
      return true;
    }
    return false;
  }
}
