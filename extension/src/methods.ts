/** Names of the requests and what they take and give; the types are generated, the pairing is the contract's. */
import type * as p from "./protocol";

interface Method<Params, Result> {
  params: Params;
  result: Result;
}

export interface Requests {
  "ensign/session/open": Method<p.SessionOpen, p.SessionOpened>;
  "ensign/session/snapshot": Method<p.SessionRef, p.SessionOpened>;
  "ensign/session/list": Method<p.Empty, p.SessionListed>;
  "ensign/session/rename": Method<p.SessionRename, p.Empty>;
  "ensign/session/delete": Method<p.SessionRef, p.Empty>;
  "ensign/session/set": Method<p.SessionSet, p.Empty>;
  "ensign/turn/start": Method<p.TurnStart, p.TurnAccepted>;
  "ensign/turn/cancel": Method<p.SessionRef, p.Empty>;
  "ensign/agent/list": Method<p.AgentList, p.AgentsListed>;
  "ensign/agent/run": Method<p.AgentRun, p.TaskStarted>;
  "ensign/task/list": Method<p.TaskList, p.TasksListed>;
  "ensign/task/get": Method<p.TaskRef, p.TaskRecord>;
  "ensign/task/transcript": Method<p.TaskRef, p.Transcript>;
  "ensign/task/stop": Method<p.TaskStop, p.TasksStopped>;
  "ensign/task/wrapUp": Method<p.TaskRef, p.Empty>;
  "ensign/task/resume": Method<p.TaskSend, p.Empty>;
  "ensign/task/send": Method<p.TaskSend, p.Empty>;
  "ensign/task/background": Method<p.TaskRef, p.Empty>;
  "ensign/task/undo": Method<p.TaskRef, p.TaskUndone>;
  "ensign/task/before": Method<p.TaskBefore, p.FileBefore>;
  "ensign/task/clear": Method<p.SessionRef, p.Empty>;
  "ensign/worktree/merge": Method<p.TaskRef, p.WorktreeMerged>;
  "ensign/worktree/discard": Method<p.TaskRef, p.WorktreeDiscarded>;
  "ensign/approval/list": Method<p.Empty, p.ApprovalsListed>;
  "ensign/approval/answer": Method<p.ApprovalAnswer, p.Answered>;
  "ensign/view/subscribe": Method<p.ViewSubscribe, p.Empty>;
  "ensign/trust/get": Method<p.Empty, p.TrustListed>;
  "ensign/trust/set": Method<p.TrustSet, p.TrustListed>;
  "ensign/agent/create": Method<p.AgentCreate, p.AgentCreated>;
  "ensign/doctor": Method<p.Empty, p.DoctorPage>;
  "ensign/model/list": Method<p.ModelList, p.ModelsListed>;
  "ensign/model/key": Method<p.SecretSet, p.Empty>;
}

export type MethodName = keyof Requests;
export type Params<M extends MethodName> = Requests[M]["params"];
export type Result<M extends MethodName> = Requests[M]["result"];

export const eventMethod = "ensign/event";
export const changedMethod = "ensign/changed";
export const saveMethod = "ensign/document/save";
export const notebookMethod = "ensign/notebook/unsaved";
