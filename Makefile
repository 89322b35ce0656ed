# Each target sets up the environment it needs, so `make demo` and `make test` work on a fresh clone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MODELS ?= .models
# For example https://download.pytorch.org/whl/cpu. Empty: the index that pip uses.
TORCH_INDEX ?=
# --no-compile: compiling all modules of all packages takes 80 s. Python compiles modules at their first import.
# Some containers set the variable, so that Python stores no bytecode. Importing the service then takes 5 s, not 2 s.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo demo-live test mutants check check-demo docs client sbom audit constraints clean

help:
	@echo "make demo         set up, ingest the sample documents, answer three questions"
	@echo "                  TORCH_INDEX=https://download.pytorch.org/whl/cpu fetches 2.5 GB less on Linux"
	@echo "make demo-live    fetch a small language model (1.1 GB), let it answer one question"
	@echo "make test         set up with the test dependencies, run the tests"
	@echo "make mutants      change lines of the changed files one at a time, and say which changes no test notices"
	@echo "make check        check format, lint, types and import rules, also of the viewer (needs npm)"
	@echo "make check-demo   before a release: check that no prompt has changed since the demo was recorded"
	@echo "make docs         build the documentation site into site/, check its links"
	@echo "make client       write candor_client/ from the OpenAPI description of the service; needs a network"
	@echo "make sbom         write docs/licenses.md and docs/sbom.cdx.json from the pins"
	@echo "make audit        look for known vulnerabilities of the pins; needs a network"
	@echo "make constraints  update constraints.txt to the newest releases, then sbom"
	@echo "make clean        remove the environment and all caches"

demo: $(VENV)/.run
	$(BIN)/candor demo

# The small model cannot plan the first question; the second asks for one fact.
demo-live: $(VENV)/.local
	model="$$($(BIN)/python -m benchmarks.fetch_model $(MODELS))" && \
	CANDOR_LLM__PROVIDER=local CANDOR_LLM__MODEL="$$model" $(BIN)/candor demo --live --question 2

# Three processes even on two cores: tests spend about half their time waiting for endpoints, servers and browsers.
# Files start in alphabetical order. By number of tests, long files of one test would start last, on one process alone.
# With eatmydata (a Debian package), no call waits for the disk. Where each wait takes 20 ms, 111 tests of the REST API took
# 254 s without it and 64 s with it.
test: $(VENV)/.dev
	$(shell command -v eatmydata || true) $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

mutants: $(VENV)/.dev
	$(shell command -v eatmydata || true) $(BIN)/python -m benchmarks.mutants

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd tests/viewer/static && npm install --silent --prefer-offline --no-fund --no-audit && npm run --silent check

# A changed prompt is no error of the change. It asks for a new recording before the next release.
check-demo: $(VENV)/.run
	$(BIN)/candor demo --json | $(BIN)/python -c 'import json, sys; sys.exit(bool(json.load(sys.stdin)["drifted"]))'

# torch first and alone, from the index of the builds for this machine. The build on PyPI for Linux brings 2.2 GB of CUDA packages.
$(VENV)/.run: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Candor needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch
	$(PIP) -e .
	touch $@

$(VENV)/.local: $(VENV)/.run
	$(PIP) -e '.[local]'
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) -e '.[dev,unstructured]'
	touch $@

docs: $(VENV)/.docs
	$(BIN)/python docs/build_configuration.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(VENV)/.docs: $(VENV)/.run
	$(PIP) -e '.[docs]'
	touch $@

client: $(VENV)/.dev $(VENV)/.client
	$(BIN)/python docs/build_client.py $(VENV)/client/bin/datamodel-codegen

# In an environment of its own, because the generator is needed only after a change of the API.
$(VENV)/.client:
	$(PYTHON) -m venv $(VENV)/client
	$(VENV)/client/bin/python -m pip install --quiet --disable-pip-version-check datamodel-code-generator==0.89.0
	touch $@

sbom: $(VENV)/.dev $(VENV)/.docs $(VENV)/.local
	$(BIN)/python docs/build_licenses.py

# --strict: a distribution that the database does not know is an error, not a success.
audit: $(VENV)/.audit
	$(VENV)/audit/bin/pip-audit --strict --no-deps --disable-pip -r constraints.txt

# In an environment of its own, because pip-audit is no dependency that is pinned.
$(VENV)/.audit:
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	touch $@

constraints:
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch==2.13.0
	$(BIN)/python -m pip install --quiet -e '.[dev,docs,local,unstructured]'
	(sed -n '/^#/p' constraints.txt; $(BIN)/python -m pip freeze --exclude-editable | sed 's/^\(torch==[^+]*\).*/\1/') > constraints.new
	mv constraints.new constraints.txt
	$(BIN)/python docs/build_licenses.py

clean:
	rm -rf $(VENV) build dist site *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
