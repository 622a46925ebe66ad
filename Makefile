# Transom. `make run VAULT=<folder>` serves a vault; `make help` lists the rest.

PYTHON ?= python3
VENV ?= .venv
VAULT ?= tests/vault
PORT ?=

BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_TO_TEST := $(VENV)/.ready-to-test
SERVE_FLAGS := --vault "$(VAULT)" $(if $(PORT),--port $(PORT))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run setup setup-test test check fix bench quality soak docs clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | column -t -s @

run: setup ## set up, index the vault VAULT=<folder> (default: the sample vault) and serve it
	@$(BIN)/transom model get --vault "$(VAULT)" || echo "Going on without the model: search works by words alone."
	@exec $(BIN)/transom serve $(SERVE_FLAGS)

setup: $(READY) ## make the virtual environment; the command is then .venv/bin/transom

$(READY): pyproject.toml scripts/setup
	@scripts/setup "$(PYTHON)" "$(VENV)"
	@touch $@

setup-test: $(READY_TO_TEST) ## set up what the tests need beyond that

$(READY_TO_TEST): $(READY) scripts/setup-test
	@scripts/setup-test "$(VENV)"
	@touch $@

test: setup-test check ## make check, then all tests
	$(BIN)/python -m pytest

check: setup-test ## lint, types, import rules, generated files; changes nothing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m bridge.cli.docs --check

fix: setup-test ## mend what can be mended by itself
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/python -m bridge.cli.docs --write

docs: setup-test ## write the generated pages of docs/reference
	$(BIN)/python -m bridge.cli.docs --write

bench: setup-test ## speed and memory, each figure beside its floor
	$(BIN)/python -m tests.bench

quality: setup-test ## search quality on all labelled sets
	$(BIN)/python -m tests.quality

soak: setup-test ## long runs of faults and random operations
	$(BIN)/python -m tests.soak

clean: ## remove the virtual environment and caches
	rm -rf "$(VENV)" .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
