# Candor. Each target makes the environment that it needs; `make demo` and `make test` work on a bare clone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test check constraints clean

help:
	@echo "make demo         set up, ingest the sample documents, answer three questions about them"
	@echo "make test         set up with all that tests need, run them"
	@echo "make check        format, lint, types, import rules"
	@echo "make constraints  renew constraints.txt from the newest releases"
	@echo "make clean        remove the environment and all caches"

demo: $(VENV)/.run
	$(BIN)/candor demo

# Three processes even on two cores: tests wait for endpoints, servers and browsers about as much as they compute.
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 3 --dist loadfile

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# torch comes first and by itself: asked for by another package, pip may look at newer builds that bring CUDA.
$(VENV)/.run: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Candor needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) torch
	$(PIP) -e .
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) -e '.[dev,unstructured]'
	touch $@

constraints:
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet -e '.[dev,unstructured]'
	(sed -n '/^#/p' constraints.txt; $(BIN)/python -m pip freeze --exclude-editable | sed 's/^\(torch==[^+]*\).*/\1/') > constraints.new
	mv constraints.new constraints.txt

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
