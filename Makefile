# make demo and make test each do all set-up first; see tools/setup.sh.
VENV ?= .venv
ARGS ?=
WORKERS ?= 2
PY := $(VENV)/bin/python

# Without it, the Wayland library that Mesa's drivers load complains on standard error.
XDG_RUNTIME_DIR ?= /tmp
export XDG_RUNTIME_DIR

.PHONY: help setup demo lint test test-adapters bench bench-random docs dist clean

help:
	@echo "make demo            set up, then run operators of each kind on the adapter found"
	@echo "make test            set up, then ruff, mypy, import contracts and the whole test suite on the adapter"
	@echo "make test-adapters   the test suite on lavapipe 22.3, lavapipe 25.0 and SwiftShader"
	@echo "make bench           the benchmarks"
	@echo "make bench-random    random layouts of every kind of work, as a distribution"
	@echo "make docs            the documentation, in site/"
	@echo "make lint            ruff, mypy and the contracts between modules alone"
	@echo "make dist            the source distribution and the wheel, in dist/"
	@echo "make clean           remove what was built, downloaded or cached here"
	@echo "ARGS=... goes to the program or to pytest; VENV=... and PYTHON=... name others"

setup:
	@tools/setup.sh $(VENV) dev

demo:
	@tools/setup.sh $(VENV) examples
	@$(PY) -m dmlgpu demo $(ARGS)

lint: setup
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy --strict
	$(VENV)/bin/lint-imports

test: lint
	DMLGPU_REQUIRE_GPU=1 $(PY) -m pytest -n $(WORKERS) $(ARGS)
	DMLGPU_REQUIRE_GPU=1 $(PY) -m pytest -n $(WORKERS) --facts large -m facts $(ARGS)
	DMLGPU_REQUIRE_GPU=1 $(PY) -m pytest -n $(WORKERS) --facts small -m "facts and not large" $(ARGS)

test-adapters: setup
	@tools/test_adapters.sh $(PY) $(ARGS)

bench:
	@tools/setup.sh $(VENV) dev,bench
	@$(PY) -m benchmarks $(ARGS)

bench-random:
	@tools/setup.sh $(VENV) dev,bench
	@$(PY) -m benchmarks.random_layouts $(ARGS)

docs:
	@tools/setup.sh $(VENV) docs
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict
	@echo "to read it, search included: $(PY) -m http.server --directory site"

dist: setup
	$(PY) -m build --no-isolation
	$(PY) -m twine check --strict dist/*

clean:
	rm -rf $(VENV) .drivers build dist site .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
