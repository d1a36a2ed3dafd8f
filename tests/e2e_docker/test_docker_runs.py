"""Whole runs on containers, through the command line: one for every day, the others with `make test-backends`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from host_support import make

from cluster import docker_reap
from cluster.docker_engine import RUN, connect

FAULTS = ("random-partition", "random-kill", "random-loss", "major-suspend")


@pytest.fixture(autouse=True)
def nothing_left():
    """What is in the engine after a run is what was there before."""
    make("docker")  # skips where there is no engine
    with connect() as engine:
        before = of_any_run(engine)
        yield
        assert of_any_run(engine) == before


def of_any_run(engine) -> set[str]:
    return {each.what for each in docker_reap._labelled(engine, lambda marks: RUN in marks)}


def chaos(store: Path, *options: str) -> list[str]:
    argv = [sys.executable, "-m", "chaos", "run", "--backend", "docker", "--engine", "local", "--seed", "1"]
    return [*argv, "--store", str(store), *options]


def check_run(tmp_path: Path, *options: str) -> dict:
    """Do a run that must be valid, with every fault proven and healed and every queue drained; its run.json."""
    argv = chaos(tmp_path, *options)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = (tmp_path / "current").resolve()
    info, results = (json.loads((folder / name).read_text()) for name in ("run.json", "results.json"))
    assert (info["backend"], info["status"], results["valid"]) == ("docker", "checked", True)
    assert results["faults"]
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert " queues in " in done.stdout
    for node in info["nodes"]:
        assert (folder / "nodes" / node["name"] / "logs" / "stdout.log").stat().st_size > 0
    return info


@pytest.mark.e2e
def test_minimq_is_valid_on_docker_under_partitions(tmp_path):
    options = ("--time-limit", "24", "--fault-interval", "6", "--recovery-time", "5", "--rate", "100")
    info = check_run(tmp_path, "--nemesis", "random-partition", *options)
    assert info["system"] == "minimq"


@pytest.mark.backends
@pytest.mark.parametrize("nemesis", FAULTS)
def test_minimq_is_valid_on_docker(tmp_path, nemesis):
    check_run(tmp_path, "--nemesis", nemesis, "--time-limit", "60", "--fault-interval", "10", "--rate", "100")


@pytest.mark.backends
@pytest.mark.parametrize("nemesis", FAULTS)
def test_rocketmq_is_valid_on_docker(tmp_path, nemesis):
    options = ("--set", "client.routing=follow", "--time-limit", "80", "--fault-interval", "20")
    check_run(tmp_path, "--system", "rocketmq", "--nemesis", nemesis, *options)


@pytest.mark.backends
@pytest.mark.parametrize("nemesis", ["random-kill", "major-suspend"])
def test_minimq_is_valid_when_its_containers_are_killed_and_paused(tmp_path, nemesis):
    options = ("--kill", "container", "--time-limit", "60", "--fault-interval", "10", "--rate", "100")
    check_run(tmp_path, "--nemesis", nemesis, *options)


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
