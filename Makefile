# `make play` is the only command that a fresh clone needs.

SCENARIO :=
SECONDS := 60
FOLDER := screens
PYTHON := .venv/bin/python
PIP := $(PYTHON) -m pip --disable-pip-version-check
PYTEST := $(PYTHON) -m pytest -n auto --dist worksteal

# The extras that `make play` installs, one for each domain of worlds that needs one.
PLAYED := .[math]

# The supported versions of Python, the preferred one first.
PYTHONS ?= python3.14 python3.13 python3.12 python3.11 python3

# An installation ends by writing a stamp, whose name is a checksum of this folder's path, the extras,
# and pyproject.toml up to its tool tables. An incomplete, outdated or copied .venv lacks this stamp.
KEY := $(shell { pwd -P; echo '$(PLAYED)'; sed '/^\[tool\./q' pyproject.toml; } | cksum | cut -d ' ' -f 1)

# Without bytecode, each of the hundreds of processes that tests start compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help play test tests quick thorough check bench learn benchmark results datasets adapters ray fuzz minigrid parity peers web mutants screens reference docs gallery clean anew

help:
	@sed -n 's/^\([a-z]*\):.*## /make \1	/p' Makefile

play: .venv/play-$(KEY)  ## open the game (SCENARIO=name opens a level)
	.venv/bin/gv-engine play $(SCENARIO)

test: .venv/test-$(KEY)  ## run make check, and the tests except thorough ones
	@$(MAKE) --no-print-directory --jobs=2 check tests

tests:
	$(PYTEST) -m "not thorough"

quick: .venv/test-$(KEY)  ## run the tests without a window that last took at most 0.04 s
	$(PYTEST) -m "not (thorough or window or slow)" -q --at-most 0.04

thorough: .venv/test-$(KEY)  ## run the tests that make test leaves out: all sizes, ids and seeds
	$(PYTEST) -m thorough

check: .venv/test-$(KEY)  ## check lint, format, types, import contracts and the number of code lines
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy
	.venv/bin/lint-imports --no-cache
	$(PYTHON) -m tests.code_lines

bench: .venv/bench-$(KEY)  ## measure the speed (ARGS=--help lists options)
	$(PYTHON) -m benchmarks $(ARGS)
	$(PYTHON) -m benchmarks.pictures
	$(PYTHON) -m benchmarks.algebra

reference: .venv/play-$(KEY)  ## write docs/reference.md from the sources
	.venv/bin/gv-engine rules --markdown > docs/reference.md

docs: .venv/docs-$(KEY)  ## build the site: site/index.html
	$(PYTHON) -m sphinx --quiet --fail-on-warning --keep-going --conf-dir docs . site

gallery: .venv/play-$(KEY)  ## write a moving picture and a web page of every level into site/levels/
	$(PYTHON) -m tests.gallery

learn: .venv/rl-$(KEY)  ## run the tests of learning, which need torch
	$(PYTHON) -m pytest -q tests/learning

benchmark: .venv/rl-$(KEY)  ## measure what is missing in benchmarks/entries/, and write docs/benchmark.md
	.venv/bin/gv-engine benchmark benchmarks/entries/*
	.venv/bin/gv-engine benchmark benchmarks/entries/* --page docs/benchmark.md

results: .venv/rl-$(KEY)  ## repeat a row of a published table (ARGS=zoo/DoorKey-5x5), or list the options
	$(PYTHON) -m benchmarks.results $(or $(ARGS),--help)

datasets: .venv/play-$(KEY)  ## record datasets with cards into datasets/ (ARGS=NAME, or --help)
	$(PYTHON) -m benchmarks.datasets $(ARGS)

adapters: .venv-adapters/$(KEY) .venv-models/$(KEY)  ## run the tests with other libraries, installed in .venv-adapters and .venv-models
	.venv-adapters/bin/python -m pytest -q tests/adapters tests/learning
	.venv-models/bin/python -m pytest -q tests/adapters/test_model_environments.py

ray: .venv-adapters/$(KEY)  ## run the tests of rollouts on a Ray cluster, which is this machine
	.venv-adapters/bin/python -m pytest -q tests/rollout/test_on_ray.py

fuzz: .venv/test-$(KEY)  ## read damaged files (SECONDS=60, SEED=number)
	$(PYTHON) -m tests.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

minigrid: .venv/test-$(KEY)  ## play MiniGrid beside our environments (ARGS=--help lists options)
	$(PYTHON) -m tests.minigrid_reference $(ARGS)
	$(PYTHON) -m tests.minigrid_wrappers
	$(PYTHON) -m tests.minigrid_training

parity: .venv/test-$(KEY)  ## play known worlds in their own packages beside ours (ARGS=--help lists options)
	$(PYTHON) -m tests.parity $(ARGS)

peers: .venv/test-$(KEY)  ## run other libraries' own tests on our modules (ARGS=--help lists options)
	$(PYTHON) -m tests.peers $(ARGS)

web: .venv/test-$(KEY)  ## test exported pages in node and Chromium (apt install nodejs npm chromium)
	$(PYTEST) -n 1 tests/web

screens: .venv/test-$(KEY)  ## draw every screen in many sizes (FOLDER=screens, ARGS="--against OTHER")
	$(PYTHON) -m tests.screens $(FOLDER) $(ARGS)

mutants: .venv/mutants-$(KEY)  ## change the rules, one operator at a time, and see whether a test fails (FILES=…, or SAMPLE=200 SEED=number)
	$(PYTHON) -m $(if $(SAMPLE),tests.mutant_sample $(SAMPLE) $(if $(SEED),--seed $(SEED)),tests.mutants $(FILES))

clean:  ## remove everything that was made here, including .venv
	rm -rf .venv .venv-peers .venv-adapters .venv-models build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/made-$(KEY):
	@$(MAKE_VENV)
	@touch $@

.venv/play-$(KEY): .venv/made-$(KEY)
	$(PIP) install --prefer-binary --editable '$(PLAYED)'
	$(PYTHON) -m compileall -q gv_engine components systems
	@touch $@

# Without --no-compile, bytecode takes a third of the time, and tests read little of it.
.venv/test-$(KEY): .venv/made-$(KEY)
	@rm -f .venv/play-$(KEY)
	$(PIP) install --no-compile --prefer-binary --editable '$(PLAYED:]=,test])'
	@touch .venv/play-$(KEY) $@

.venv/docs-$(KEY): .venv/play-$(KEY)
	$(PIP) install --prefer-binary --editable '.[docs]'
	@touch $@

.venv/bench-$(KEY): .venv/play-$(KEY)
	$(PIP) install --prefer-binary --editable '.[kernel]'
	@touch $@

.venv/rl-$(KEY): .venv/test-$(KEY)
	$(PIP) install --prefer-binary --editable '.[rl,sweep,onnx]' onnxruntime
	@touch $@

.venv-adapters/$(KEY): .venv/test-$(KEY)
	$(PYTHON) -m venv --clear .venv-adapters
	.venv-adapters/bin/python -m pip install --prefer-binary --editable '.[test,sb3,pufferlib,torchrl,tianshou,rllib,minari]' tensorboard
	@touch $@

# verifiers wants mcp 2.0.0, and the extra mcp a later one
.venv-models/$(KEY): .venv/test-$(KEY)
	$(PYTHON) -m venv --clear .venv-models
	.venv-models/bin/python -m pip install --prefer-binary --editable '.[openenv,verifiers]' hypothesis pytest
	@touch $@

.venv/mutants-$(KEY): .venv/test-$(KEY)
	$(PIP) install --prefer-binary --editable '.[mutants]'
	@touch $@

# A .venv whose Python is gone is made again, whatever the stamps say.
ifneq (ok,$(shell $(PYTHON) -c 'import pip; print("ok")' 2>/dev/null))
.venv/made-$(KEY): anew
endif

# Make .venv with the first suitable Python that can make virtual environments.
define MAKE_VENV
for python in $(PYTHONS); do \
    $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null || continue; \
    fits=$${fits:-$$python}; \
    $$python -c 'import ensurepip, venv' 2>/dev/null || continue; \
    echo "Making .venv with $$($$python --version)"; \
    exec $$python -m venv --clear .venv; \
done; \
if [ "$$fits" ]; then \
    echo "$$fits cannot make virtual environments. On Debian or Ubuntu: apt install $$fits-venv"; \
else \
    echo "GV Engine needs Python 3.11 to 3.14, and none is on the PATH."; \
fi >&2; \
exit 1
endef
