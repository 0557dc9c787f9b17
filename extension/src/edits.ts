/** Edits of open documents: say why one was not applied, and save what was clean before it. */
import * as vscode from "vscode";
import type {
  ApplyWorkspaceEditParams,
  ApplyWorkspaceEditRequest,
  OptionalVersionedTextDocumentIdentifier,
} from "vscode-languageclient/node";
import type { DocumentSave, DocumentSaved, NotebookAnswer, NotebookAsk } from "./protocol";

type Apply = ApplyWorkspaceEditRequest.HandlerSignature;
type Applied = Awaited<ReturnType<Apply>>;

const LABEL_MS = 5_000;

/** The client library refuses stale edits without a word; the model needs to know which document and why. */
export async function applyEdit(params: ApplyWorkspaceEditParams, apply: Apply): Promise<Applied> {
  // The library runs edits one after the other and looks at no token.
  const result = await apply(params, new vscode.CancellationTokenSource().token);
  if (result instanceof Error) return result;
  if (result.applied) {
    if (params.label) vscode.window.setStatusBarMessage(`$(edit) ${params.label.replaceAll("$(", "$ (")}`, LABEL_MS);
    return result;
  }
  if (result.failureReason) return result;
  return { ...result, failureReason: stale(params) ?? "the editor did not apply the edit" };
}

/** Save a document, if it is still the one the server means. */
export async function saveDocument({ uri, version }: DocumentSave): Promise<DocumentSaved> {
  const document = openDocument(uri);
  if (document?.version !== version) return { saved: false };
  return { saved: await document.save() };
}

/** Say whether a notebook is open here with changes that are not on disk. */
export function unsavedNotebook({ uri }: NotebookAsk): NotebookAnswer {
  const wanted = vscode.Uri.parse(uri).toString();
  const open = vscode.workspace.notebookDocuments.find((notebook) => notebook.uri.toString() === wanted);
  return { unsaved: open?.isDirty ?? false };
}

function stale(params: ApplyWorkspaceEditParams): string | undefined {
  for (const change of params.edit.documentChanges ?? []) {
    if (!("textDocument" in change)) continue;
    const { uri, version }: OptionalVersionedTextDocumentIdentifier = change.textDocument;
    const document = openDocument(uri);
    if (version !== null && document !== undefined && document.version !== version) {
      const name = vscode.workspace.asRelativePath(document.uri, false);
      return `${JSON.stringify(name)} has changed: it is at version ${document.version}, the edit is for ${version}`;
    }
  }
  return undefined;
}

function openDocument(uri: string): vscode.TextDocument | undefined {
  // Servers and editors encode URIs differently; parsed ones compare.
  const wanted = vscode.Uri.parse(uri).toString();
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === wanted);
}
