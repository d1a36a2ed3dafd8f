# Every target sets up first; nothing else is needed on a fresh machine.
PYTHON ?= python3
# What one process has compiled the next ones take from it, whatever the surroundings say; pip leaves that to whoever imports.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup run nightly test test-systems test-backends test-longer controls bugs clean-runs pages bench lint collect clean
setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml .ci/setup
	@PYTHON="$(PYTHON)" sh .ci/setup

$(VENV)/.ready-test: pyproject.toml .ci/setup
	@PYTHON="$(PYTHON)" sh .ci/setup test

run: setup
	@$(BIN)/chaos run --nemesis random-partition

$(VENV)/.ready-bench: pyproject.toml .ci/setup
	@PYTHON="$(PYTHON)" sh .ci/setup bench

lint: $(VENV)/.ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

# Importing compiles: packages after a fresh install, and tests, which pytest writes anew first. Each worker would do all
# of it for itself; one process does it while mypy leaves the other core idle.
collect: $(VENV)/.ready-test
	@said=$$($(BIN)/python -m pytest --collect-only -qq tests) || { echo "$$said"; exit 1; }

# The unit part first: what can fail in two minutes should. It, whole runs of a fake system and the tests of hosts wait
# half of their time, and real clusters a third, so they have more workers than cores; who has done its share takes of
# another's. Of real clusters the tests of one file stay together: they share what is up.
UNIT := not e2e and not spark and not controls and not backends and not longer
MANY := --durations 12 -n $$((2 * $$(nproc))) --dist worksteal
test: $(VENV)/.ready-test
	@$(MAKE) --no-print-directory -j2 lint collect
	$(BIN)/python -m pytest $(MANY) -m "$(UNIT) and not broad" tests/unit
	$(BIN)/python -m pytest $(MANY) -m "$(UNIT) and broad" tests/unit tests/property
	$(BIN)/python -m pytest $(MANY) -m "e2e and not longer" tests/e2e_hosts
	$(BIN)/python -m pytest --durations 12 -n $$((3 * $$(nproc) / 2)) --dist loadfile -m "(e2e or spark) and not controls and not backends and not longer" --ignore tests/e2e_hosts --ignore tests/property

# Three systems under three kinds of fault, about 25 minutes. It leaves one page, one JUnit file and one summary in the
# folder that it prints last; the same command goes on where it was cut off that day. STORE and ARGS are yours to change.
STORE ?= store/nightly-$(shell date -u +%F)
nightly: $(VENV)/.ready-test
	@$(BIN)/chaos matrix smoke --store $(STORE) $(ARGS); code=$$?; \
	echo "index.html, junit.xml and summary.md are in $(STORE)/matrix-smoke"; exit $$code

# Every system with what it is used for most under one fault, about half an hour; FAULT is yours to change. The exit code
# and the folder are those of `chaos matrix every-system`.
FAULT ?= random-partition
test-systems: $(VENV)/.ready-test
	$(BIN)/chaos matrix every-system --only '*$(FAULT)*' --store $(STORE) $(ARGS)

# Real systems on Docker under each kind of fault; the engine: .ci/engine, where none runs.
test-backends: $(VENV)/.ready-test
	$(BIN)/chaos image build --system rocketmq
	$(BIN)/python -m pytest -m backends

# RocketMQ in every mode and with every workload, a matrix that is cut off, faults at once, the longest of all others:
# about 40 minutes.
test-longer: $(VENV)/.ready-test
	$(BIN)/python -m pytest -m longer

# Settings and obstacles under which the verdict on real RocketMQ must not be valid: about 25 minutes.
controls: $(VENV)/.ready-test
	$(BIN)/python -m pytest -m controls tests/controls

# Every bug of minimq under its nemesis, five seeds each, and minimq without a bug under a mix of all faults, where today's
# code has made no run yet. Both can be cut off and taken up again. JOBS clusters at a time: with 2 about an hour for each.
# The tree must have no changes: docs/results/bugs.md and docs/results/clean-runs.md name the commit of each run.
JOBS ?= 1
bugs: $(VENV)/.ready-test
	$(BIN)/python benchmarks/minimq_bugs.py run --stale --jobs $(JOBS)

clean-runs: $(VENV)/.ready-test
	$(BIN)/python benchmarks/minimq_clean.py run --stale --jobs $(JOBS)

# Pages under docs/ again, from their rows under docs/data and today's code: a row that the code has outgrown is marked.
PAGES := rocketmq_matrix findings minimq_bugs hunts minimq_clean minimq_figures simulated_bugs backends progress bench rocketmq_raft dispatch systems ci_minutes
pages: $(VENV)/.ready-test
	@for page in $(PAGES); do $(BIN)/python benchmarks/$$page.py render || exit; done

# How fast the checkers are, beside others on the same histories: 20 minutes and 10 GB of disk, or SCALE=small: minutes.
# Porcupine needs go. It can be cut off and taken up again; docs/results/benchmarks.md is made of what it appends.
SCALE ?= full
bench: $(VENV)/.ready-bench
	$(BIN)/python benchmarks/bench.py run --scale $(SCALE)

clean: setup
	$(BIN)/chaos clean
