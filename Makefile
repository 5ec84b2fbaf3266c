# `make` alone lists the targets.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all test-slow check format notebooks docs vendor playground pages atlas size bench clean

VENV := .venv
PY := $(VENV)/bin/python

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.runtime: pyproject.toml constraints.txt tools/setup.sh
	@sh tools/setup.sh runtime

$(VENV)/.dev: $(VENV)/.runtime
	@sh tools/setup.sh dev

$(VENV)/.docs: $(VENV)/.dev
	@sh tools/setup.sh docs

$(VENV)/.bench: $(VENV)/.dev
	@sh tools/setup.sh bench

setup: $(VENV)/.runtime ## make .venv with the console script `equipoise` in it

demo: $(VENV)/.runtime ## set up and audit real clusters of both systems, on Spark
	@$(VENV)/bin/equipoise audit --engine spark --report equipoise-demo.html examples/captures

test: $(VENV)/.dev ## set up and run the tests; those of the site are skipped where the docs' packages are missing
	$(PY) -m pytest -m "not slow" -n auto --maxprocesses 4

test-all: $(VENV)/.docs vendor test ## the same with the tests of the site: needs the docs' packages, and npm for the playground

test-slow: $(VENV)/.docs vendor ## the slow suites (long properties, real clusters), and property tests with new examples
	$(PY) -m pytest -m "slow or hypothesis" --hypothesis-profile search

check: $(VENV)/.dev ## lint, format, contracts about imports, lengths, types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports --no-cache
	$(PY) -m tools.house
	$(VENV)/bin/mypy

format: $(VENV)/.dev ## format the code
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

notebooks: $(VENV)/.dev ## execute the notebooks and write them with what they put out
	$(PY) notebooks/execute.py

vendor: $(VENV)/.docs ## fetch what the site needs of other projects (npm, pip), where it is not there yet
	@$(PY) -m tools.site.vendor

docs: $(VENV)/.docs vendor ## build the documentation with reports, notebooks and playground into build/site, and check its links
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@echo "The documentation is build/site/index.html; make playground serves it, which the playground needs."

playground: docs ## build the documentation and serve it on 127.0.0.1:8000 until Ctrl-C
	@echo "http://127.0.0.1:8000/playground/index.html"
	@$(PY) -m http.server --bind 127.0.0.1 --directory build/site 8000

pages: $(VENV)/.dev ## write anew what is made from code: help, numbers, stories, expected outputs
	$(PY) -m tools.pages

atlas: $(VENV)/.dev ## sweep the grids of the atlas (in build/atlas) and write its data, page and pictures
	$(PY) -m tools.atlas
	$(PY) -m tools.pages

size: $(VENV)/.dev ## print lines, files, test cases and `Any` by package
	@$(PY) -m tools.size

bench: $(VENV)/.bench ## run the benchmarks (see benchmarks/README.md)
	$(PY) -m benchmarks

clean: ## remove everything that setting up and running made
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse
