/** The document that the chat's page lives in. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

export function pageHtml(webview: vscode.Webview, extension: vscode.Uri): string {
  const asset = (name: string): string =>
    webview.asWebviewUri(vscode.Uri.joinPath(extension, "dist", "page", name)).toString();
  const nonce = randomBytes(18).toString("base64");
  // Nothing comes from elsewhere: no image, frame or connection at all, only our own script, style and icon font.
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${webview.cspSource}`,
    `font-src ${webview.cspSource}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${asset("style.css")}">
<title>Ensign chat</title>
</head>
<body>
<div id="app"></div>
<script nonce="${nonce}" src="${asset("main.js")}"></script>
</body>
</html>`;
}
