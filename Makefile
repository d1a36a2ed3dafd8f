# Every target sets up first; nothing else is needed on a fresh machine.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin

.PHONY: setup run test controls lint clean
setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml .ci/setup
	@PYTHON="$(PYTHON)" sh .ci/setup

run: setup
	@$(RUN)/chaos run --system rocketmq --nemesis random-partition --set client.routing=follow

lint: setup
	$(RUN)/ruff check .
	$(RUN)/mypy

test: setup
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/python -m pytest

controls: setup
	$(RUN)/python -m pytest -m controls tests/controls

clean: setup
	$(RUN)/chaos clean
