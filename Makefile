# The same few commands everywhere. Each sets up what it needs, and is quick when that is there.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

DIR ?= .
ASK ?= Where is a subagent started, and what does it get back?

PYTHON := $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
VSIX := extension/ensign.vsix
EDITOR := .cache/editor

.PHONY: help
help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | column -t -s "$$(printf '\t')"

# ---- what people type -----------------------------------------------------------------------------------------------

.PHONY: run test editor check fmt bench soak vsix protocol docs
run: .venv/.ok ## ask a question about a folder (DIR=, ASK=): a main agent delegates, a report with evidence comes out
	@$(BIN)/ensign run "$(ASK)" --cwd "$(DIR)"

test: test-python test-extension test-nvim test-editor ## pass all tests

editor: .venv/.ok $(EDITOR)/.ok $(VSIX) ## open a real VS Code with the extension in the browser, on loopback (DIR=)
	@$(BIN)/python -m tests.editor "$(DIR)"

check: .venv/.ok extension/node_modules/.ok ## format, lint, types, layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/basedpyright --warnings
	$(BIN)/pytest -q tests/test_layers.py tests/test_tidy.py
	cd extension && npm run --silent check

fmt: .venv/.ok extension/node_modules/.ok ## mend format and what lint can mend
	$(BIN)/ruff check --fix --exit-zero --quiet
	$(BIN)/ruff format
	cd extension && npm run --silent --if-present fmt

bench: .venv/.ok ## print the performance table
	@$(BIN)/python -m tests.bench

soak: .venv/.ok ## run the tests that take minutes
	$(BIN)/pytest -m soak --timeout=3600 tests

vsix: $(VSIX) ## build the installable extension with the server and its packages inside (TARGET= another platform)
	@$(if $(TARGET),cd extension && npm run --silent package -- "$(TARGET)",)

protocol: .venv/.ok ## write the extension's message types anew from the server's
	$(BIN)/python -m ensign.protocol.typescript extension/src/protocol.ts

docs: .venv/.ok ## write the page of an agent file's fields anew from the server's table
	$(BIN)/python -c 'import sys; from ensign.definitions.editing.words import page; sys.stdout.write(page())' > docs/agent-files.md

# ---- the parts of `test` ---------------------------------------------------------------------------------------------

.PHONY: test-python test-extension test-nvim test-editor
# One test speaks through the library that VS Code's client is made of.
test-python: .venv/.ok extension/node_modules/.ok
	$(BIN)/pytest -n 2 tests

test-extension: extension/node_modules/.ok
	cd extension && npm test --silent

test-nvim: .venv/.ok
	.ci/need neovim=nvim
	$(BIN)/pytest -m nvim tests/nvim

test-editor: .venv/.ok $(EDITOR)/.ok $(VSIX)
	$(BIN)/pytest -m editor tests/editor

# ---- set-up ----------------------------------------------------------------------------------------------------------

.PHONY: venv
venv: .venv/.ok ## only the Python environment

.venv/.ok: pyproject.toml
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Ensign needs Python 3.11 or newer (found: $${PYTHON:-$$(python3 --version 2>&1)}): apt-get install python3.11 python3.11-venv" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

extension/node_modules/.ok: extension/package.json $(wildcard extension/package-lock.json)
	cd extension && if [ -f package-lock.json ]; then npm ci --no-audit --no-fund; else npm install --no-audit --no-fund; fi
	@touch $@

$(EDITOR)/.ok: tests/editor/install.sh
	.ci/need chromium=chromium
	bash tests/editor/install.sh $(EDITOR)
	@touch $@

# The server and the agents travel inside.
$(VSIX): .venv/.ok extension/node_modules/.ok pyproject.toml $(shell find extension server/ensign agents -type f \
    -not -path '*/node_modules/*' -not -path '*/__pycache__/*' -not -path 'extension/out/*' -not -path 'extension/dist/*' \
    -not -path 'extension/server/*' -not -name '*.vsix' 2>/dev/null)
	cd extension && npm run --silent package
	@test -f $@ && touch $@
