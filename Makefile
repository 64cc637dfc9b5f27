# Everything a person runs; `make help` lists it.
SHELL := /bin/bash
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
# So many processes test at once, all on one Spark server; with 0 it is this one, for a debugger.
PROCESSES ?= 3
PACKAGES := floodmark floodmark_dagster assets demo jobs resources sensors
export DAGSTER_HOME := $(CURDIR)/.dagster

.DEFAULT_GOAL := help
.PHONY: help install lock demo demo-year ui test test-fast test-long check types types-of-tests imports bench bench-epoch bench-history bench-delta bench-thinning bench-nexmark bench-tpch bench-spill golden docs clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/ —/'

install: $(VENV)/.installed ## Make .venv from the lock file

$(VENV)/.installed: requirements.lock requirements-uv.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-uv.lock
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes --requirement requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@$(BIN)/python -m compileall -q $(PACKAGES) definitions.py
	@mkdir -p $(DAGSTER_HOME) && cp dagster.yaml $(DAGSTER_HOME)/dagster.yaml
	@$(BIN)/python -m demo.warm
	@touch $@

lock: ## Resolve the dependencies of pyproject.toml anew
	$(BIN)/uv pip compile pyproject.toml --group dev --python-version 3.11 --no-emit-index-url \
	  --generate-hashes --no-header --output-file requirements.lock
	echo uv | $(BIN)/uv pip compile - --python-version 3.11 --no-emit-index-url \
	  --generate-hashes --no-header --no-annotate --output-file requirements-uv.lock

demo: install ## Two months of real flights through Dagster
	@$(BIN)/floodmark demo

demo-year: install ## The whole year
	@$(BIN)/floodmark --warehouse warehouse-year demo --months 12

ui: install ## Dagster's web interface on port 3000
	@mkdir -p $(DAGSTER_HOME) && cp dagster.yaml $(DAGSTER_HOME)/dagster.yaml
	$(BIN)/dagster dev -w workspace.yaml

test: install ## All tests of the daily set
	$(BIN)/python -m pytest -n $(PROCESSES) -m "not long"

test-fast: install ## The tests that need no Spark
	$(BIN)/python -m pytest -n $(PROCESSES) -m "not long and not spark"

test-long: install ## The nightly set
	$(BIN)/python -m pytest

check: install ## Style, types, layers, docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory --jobs 3 --output-sync types types-of-tests imports

types: install
	$(BIN)/mypy

types-of-tests: install
	$(BIN)/mypy --config-file tests/mypy.ini

imports: install
	$(BIN)/lint-imports

bench: bench-epoch bench-history bench-delta bench-thinning bench-nexmark bench-tpch bench-spill ## All benchmarks

bench-epoch: install ## An epoch of 1,000 rows against delta-spark
	$(BIN)/python -m benchmarks.epoch

bench-history: install ## An epoch after 1, 10 and 100 times the history
	$(BIN)/python -m benchmarks.history $(OPTIONS)

bench-delta: install ## 1 % of the input changed, against recomputing the views
	$(BIN)/python -m benchmarks.delta $(OPTIONS)

bench-thinning: install ## Rows that a source keeps one in a hundred of, for thirty days
	$(BIN)/python -m benchmarks.thinning $(OPTIONS)

bench-nexmark: install ## Nexmark against Flink and Spark
	$(BIN)/python -m benchmarks.nexmark $(OPTIONS)

bench-tpch: install ## TPC-H as views, refreshed by 0.1, 1 and 10 %, against recomputing them
	$(BIN)/python -m benchmarks.tpch $(OPTIONS)

bench-spill: install ## State far beyond the heap of Spark's server
	$(BIN)/python -m benchmarks.spill $(OPTIONS)

golden: install ## Rewrite the golden plans; review the diff
	$(BIN)/python -m tests.golden.rewrite

docs: install ## Write docs/errors.md, docs/options.md and docs/pictures
	$(BIN)/python docs/generate_errors.py
	$(BIN)/python docs/generate_options.py
	$(BIN)/python -m docs.generate_pictures

clean: ## Remove what the demo made
	rm -rf warehouse warehouse-year landing report.html .dagster/storage .dagster/history
