"""Whole runs on containers, through the command line: one for every day, the others with `make test-backends`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from host_support import make
from run_support import FAULTS, ROCKETMQ_FAULTS, check_run

from cluster.hosts.docker import cleanup
from cluster.hosts.docker.engine import RUN, connect


@pytest.fixture(autouse=True)
def nothing_left():
    """What is in the engine after a run is what was there before."""
    make("docker")  # skips where there is no engine
    with connect() as engine:
        before = of_any_run(engine)
        yield
        assert of_any_run(engine) == before


def of_any_run(engine) -> set[str]:
    return {each.what for each in cleanup._labelled(engine, lambda marks: RUN in marks)}


def chaos(store: Path, *options: str) -> list[str]:
    argv = [sys.executable, "-m", "chaos", "run", "--backend", "docker", "--engine", "local", "--seed", "1"]
    return [*argv, "--store", str(store), *options]


def valid_run(tmp_path: Path, *options: str) -> dict:
    """A run that must be valid: see ``run_support.check_run``."""
    done = subprocess.run(chaos(tmp_path, *options), capture_output=True, text=True, timeout=600, check=False)
    return check_run(tmp_path, "docker", done.returncode, done.stdout + done.stderr)


@pytest.mark.e2e
def test_minimq_is_valid_on_docker_under_partitions(tmp_path):
    options = ("--time-limit", "24", "--fault-interval", "6", "--recovery-time", "5", "--rate", "100")
    info = valid_run(tmp_path, "--nemesis", "random-partition", *options)
    assert info["system"] == "minimq"


@pytest.mark.backends
@pytest.mark.parametrize("nemesis", FAULTS[:2])
def test_minimq_is_valid_on_docker(tmp_path, nemesis):
    """The other faults: tests/e2e_ssh/test_ssh_run.py."""
    valid_run(tmp_path, "--nemesis", nemesis, "--time-limit", "30", "--fault-interval", "5", "--rate", "100")


@pytest.mark.backends
@pytest.mark.parametrize("nemesis", FAULTS[:2])
def test_rocketmq_is_valid_on_docker(tmp_path, nemesis):
    """The other faults: tests/e2e_ssh/test_ssh_run.py."""
    options = ("--set", "client.routing=follow", *ROCKETMQ_FAULTS)
    valid_run(tmp_path, "--system", "rocketmq", "--nemesis", nemesis, *options)


@pytest.mark.backends
def test_minimq_is_valid_whatever_is_done_to_its_containers(tmp_path):
    nemeses = "random-kill,random-stop,leader-restart,major-suspend,random-disconnect"
    options = ("--kill", "container", "--time-limit", "50", "--fault-interval", "5", "--rate", "100")
    info = valid_run(tmp_path, "--nemesis", nemeses, *options)
    assert info["planned_faults"] >= 5


@pytest.mark.e2e
def test_a_container_that_goes_in_the_middle_of_a_run_ends_it_with_255(tmp_path):
    argv = chaos(tmp_path, "--nemesis", "noop", "--time-limit", "300", "--rate", "50")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        said = []
        try:
            for line in iter(run.stdout.readline, ""):
                said.append(line)
                if " sends ok " in line:
                    break
            folder = (tmp_path / "current").resolve()
            with connect() as engine:
                engine.api.kill(f"chaos-{folder.name}-b1")
            rest = run.communicate(timeout=120)[0]
        finally:
            run.kill()
    assert run.returncode == 255, "".join(said) + rest
    assert "exit code   255" in rest
    assert "broke    host b1 is gone: its container ended with 137; nothing runs there any more" in rest
    assert "host b1 is gone" in json.loads((folder / "run.json").read_text())["error"]
