# Every target sets up first; nothing else is needed on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup run test test-backends controls lint clean
setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml .ci/setup
	@PYTHON="$(PYTHON)" sh .ci/setup

$(VENV)/.ready-test: pyproject.toml .ci/setup
	@PYTHON="$(PYTHON)" sh .ci/setup test

run: setup
	@$(BIN)/chaos run --nemesis random-partition

lint: $(VENV)/.ready-test
	$(BIN)/ruff check .
	$(BIN)/mypy

# The unit part first: what can fail in a minute should.
test: lint
	$(BIN)/python -m pytest -m "not e2e and not spark and not controls and not backends"
	$(BIN)/python -m pytest -m "(e2e or spark) and not controls and not backends"

# Real systems on Docker under each kind of fault; the engine: .ci/engine, where none runs.
test-backends: $(VENV)/.ready-test
	$(BIN)/chaos image build --system rocketmq
	$(BIN)/python -m pytest -m backends

# Settings and obstacles under which the verdict on real RocketMQ must not be valid: about 25 minutes.
controls: $(VENV)/.ready-test
	$(BIN)/python -m pytest -m controls tests/controls

clean: setup
	$(BIN)/chaos clean
