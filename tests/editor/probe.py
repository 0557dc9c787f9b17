"""A tiny extension, packed on the fly, with one of everything that the harness knows how to find.

It lets the harness be tested without the product, so that a failure says which of the two is broken.
"""

import json
import zipfile
from pathlib import Path

PROBE_ID = "ensign-tests.probe"

MANIFEST = {
    "publisher": "ensign-tests",
    "name": "probe",
    "version": "0.0.1",
    "engines": {"vscode": "^1.91.0"},
    "main": "main.js",
    "activationEvents": ["onStartupFinished"],
    "contributes": {
        "commands": [
            {"command": "probe.ask", "title": "Probe: Ask"},
            {"command": "probe.modal", "title": "Probe: Modal"},
            {"command": "probe.stop", "title": "Stop", "icon": "$(debug-stop)"},
            {"command": "probe.here", "title": "Probe here"},
        ],
        "viewsContainers": {"activitybar": [{"id": "probe", "title": "Probe", "icon": "icon.svg"}]},
        "views": {
            "probe": [
                {"id": "probe.chat", "name": "Chat", "type": "webview"},
                {"id": "probe.tree", "name": "Things"},
            ]
        },
        "menus": {
            "editor/context": [{"command": "probe.here", "group": "navigation"}],
            "view/item/context": [{"command": "probe.stop", "when": "view == probe.tree", "group": "inline"}],
        },
    },
}

MAIN = """
const vscode = require("vscode");
exports.activate = (context) => {
  const status = vscode.window.createStatusBarItem();
  const say = (text) => { status.text = text; status.show(); };
  say("probe " + (process.env.PROBE_ENV ?? "?"));
  const log = vscode.window.createOutputChannel("Probe", { log: true });
  log.info("probe is awake");
  context.subscriptions.push(
    vscode.commands.registerCommand("probe.ask", async () => say(
      "answer " + await vscode.window.showInformationMessage("[probe] May I?", "Allow once", "Deny"))),
    vscode.commands.registerCommand("probe.modal", async () => say(
      "modal " + await vscode.window.showWarningMessage("Really?", { modal: true }, "Yes"))),
    vscode.commands.registerCommand("probe.stop", (thing) => say("stopped " + thing)),
    vscode.commands.registerCommand("probe.here", () => say(
      "here " + vscode.window.activeTextEditor.selection.active.line)),
    vscode.window.registerTreeDataProvider("probe.tree", {
      getChildren: () => ["one", "two"],
      getTreeItem: (label) => new vscode.TreeItem(label),
    }),
    vscode.window.registerWebviewViewProvider("probe.chat", { resolveWebviewView(view) {
      view.webview.options = { enableScripts: true };
      view.webview.onDidReceiveMessage((text) => say("heard " + text));
      view.webview.html = `<button onclick="acquireVsCodeApi().postMessage('hi')">Say hi</button>`;
    } }),
  );
};
"""

CONTENT_TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension=".json" ContentType="application/json"/>
<Default Extension=".js" ContentType="application/javascript"/>
<Default Extension=".svg" ContentType="image/svg+xml"/><Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>"""

VSIX_MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata><Identity Language="en-US" Id="probe" Version="0.0.1" Publisher="ensign-tests"/>
<DisplayName>Probe</DisplayName><Description>Probe</Description></Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/>
<Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/></Assets>
</PackageManifest>"""

ICON = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="8"/></svg>'


def pack(folder: Path) -> Path:
    """Write the probe's vsix into `folder` and return its path."""
    path = folder / "probe.vsix"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", CONTENT_TYPES)
        archive.writestr("extension.vsixmanifest", VSIX_MANIFEST)
        archive.writestr("extension/package.json", json.dumps(MANIFEST))
        archive.writestr("extension/main.js", MAIN)
        archive.writestr("extension/icon.svg", ICON)
    return path
