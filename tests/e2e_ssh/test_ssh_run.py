"""Whole runs on machines reached by SSH."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from host_support import missing
from run_support import FAULTS, ROCKETMQ_FAULTS, check_verdict
from ssh_support import MINIMQ, PORT, USER, chaos, started, valid_run


def short(*more: str) -> list[str]:
    return ["--time-limit", "12", "--fault-interval", "4", "--fault-duration", "6", "--recovery-time", "3", *more]


def events_of(lab) -> list[dict]:
    folder = (lab.folder / "store" / "current").resolve()
    return [json.loads(line) for line in (folder / "history" / "run.events").read_text().splitlines()]


@pytest.mark.e2e
def test_a_run_with_a_partition_is_valid_and_leaves_the_machines_as_they_were(lab):
    made = lab(*MINIMQ)
    argv = ["--system", "minimq", "--nodes-file", made.nodes_file(), "--install", "--nemesis", "random-partition"]
    code, said = chaos(made, *argv, *short("--seed", "1", "--rate", "50"))
    assert code == 0, said
    assert "backend  ssh (auto: --nodes-file names its hosts)" in said
    assert "warning" not in said
    events = events_of(made)
    stages = [(event["stage"], event["evidence"]["proven"]) for event in events if event.get("evidence")]
    assert ("active", True) in stages
    assert ("healed", True) in stages
    assert all(proven for _, proven in stages)
    skews = [event for event in events if event.get("name") == "clock-skew"]
    assert sorted({event["node"] for event in skews}) == sorted(MINIMQ)
    assert all(abs(event["data"]["ahead_ns"]) <= event["data"]["error_ns"] + 1_000_000 for event in skews)
    folder = (made.folder / "store" / "current").resolve()
    for name in MINIMQ:
        assert (folder / "nodes" / name / "logs" / "stdout.log").stat().st_size > 0
        machine = made.machines[name]
        assert list(Path(machine.home, "root/.chaos/runs").iterdir()) == []
        assert "CHAOS" not in machine.run("iptables", "-S", timeout_s=10).text


@pytest.mark.backends
@pytest.mark.parametrize("nemesis", FAULTS[2:])
def test_minimq_is_valid_on_machines(lab, nemesis):
    """The other faults: tests/e2e_docker/test_docker_runs.py."""
    options = ("--time-limit", "30", "--fault-interval", "5", "--rate", "100")
    valid_run(lab(*MINIMQ), "--system", "minimq", "--nemesis", nemesis, *options)


@pytest.mark.backends
@pytest.mark.parametrize("nemesis", FAULTS[2:])
def test_rocketmq_is_valid_on_machines(lab, nemesis, monkeypatch):
    """The other faults: tests/e2e_docker/test_docker_runs.py."""
    made = lab("n1", *MINIMQ)
    monkeypatch.setenv("CHAOS_CACHE", str(Path.home() / ".cache" / "chaos"))  # Maven takes minutes
    options = ("--set", "client.routing=follow", *ROCKETMQ_FAULTS)
    try:
        valid_run(made, "--system", "rocketmq", "--nemesis", nemesis, *options)
    finally:
        for machine in made.names:  # 100 MB each
            shutil.rmtree(Path(made.machines[machine].home, "root/.chaos/artefacts"), ignore_errors=True)


@pytest.mark.e2e
@pytest.mark.longer
def test_the_same_plan_gives_the_same_rows_evidence_checks_and_verdict_on_every_backend(lab, tmp_path):
    common = ["--system", "minimq", "--nemesis", "random-kill@broker,random-partition", "--rhythm", "even"]
    common += ["--time-limit", "24", "--fault-interval", "4", "--fault-duration", "6", "--seed", "5", "--rate", "20"]

    def seen(place, *own):
        code, said = chaos(place, *common, *own)
        assert code == 0, said
        folder = (place.folder / "store" / "current").resolve()
        results = json.loads((folder / "results.json").read_text())
        faults = [event for event in events_of(place) if event.get("type") == "fault"]
        return {
            "plan": (folder / "plan.jsonl").read_text(),
            "stages": [(event["id"], event["name"], event["stage"], event["targets"]) for event in faults],
            "evidence": [event["evidence"]["kind"] for event in faults if event.get("evidence")],
            "checks": [check["name"] for check in results["checks"]],
            "valid": results["valid"],
        }

    here = SimpleNamespace(folder=tmp_path)  # the lab's network leaves the engine no addresses
    in_namespaces = seen(here, "--backend", "netns")
    if os.environ.get("CI") or missing("docker") is None:
        assert seen(here, "--backend", "docker") == in_namespaces
    made = lab(*MINIMQ)
    assert seen(made, "--nodes-file", made.nodes_file(), "--install") == in_namespaces


@pytest.mark.e2e
def test_a_machine_that_dies_in_the_middle_ends_the_run_in_255_with_one_line(lab):
    made = lab(*MINIMQ)
    argv = ["--system", "minimq", "--nemesis", "noop", "--nodes-file", made.nodes_file(), "--install"]
    run = started(made, *argv, *short("--rate", "20"))
    try:
        assert run.stdout is not None
        said = ""
        while "] load " not in said:
            line = run.stdout.readline()
            assert line, said
            said += line
        made.machines["b2"].run("sh", "-c", "kill -9 -1", timeout_s=10)
        said += run.communicate(timeout=300)[0]
    finally:
        run.kill()
        run.wait()
    assert run.returncode == 255, said
    (broke,) = [line for line in said.splitlines() if "] broke " in line]
    where = f"{made.machines['b2'].address}:{PORT}"
    assert f"host b2 is gone: b2 at {where}: no SSH connection: " in broke
    assert "Traceback" not in said
    for name in set(MINIMQ) - {"b2"}:
        assert list(Path(made.machines[name].home, "root/.chaos/runs").iterdir()) == []


class Spy(threading.Thread):
    """Looks for some bytes in the command lines and environments of all processes of this machine.

    The harness itself has them in its environment. So has, for a moment, a process that it forks: until that runs
    another program, it also has the harness' command line.
    """

    def __init__(self, wanted: bytes, harness: int) -> None:
        super().__init__()
        self.wanted, self.harness, self.end = wanted, Path("/proc", str(harness)), threading.Event()
        self.found: set[str] = set()
        self.looked = 0
        self.start()

    def run(self) -> None:
        while not self.end.wait(0.05):
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    self._look_at(entry)
            self.looked += 1

    def _look_at(self, entry: Path) -> None:
        try:
            line, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
            own = (self.harness / "cmdline").read_bytes()
        except OSError:
            return  # one of them has ended
        if self.wanted in line or (self.wanted in environment and line != own):
            self.found.add(f"{entry.name} {line!r}")


@pytest.mark.e2e
@pytest.mark.longer
def test_a_password_is_in_no_file_no_log_no_process_list_and_no_report(lab):
    secret = f"planted-{secrets.token_hex(8)}"
    made = lab(*MINIMQ, password=secret)
    for name in MINIMQ:
        made.sudoers(name, f"{USER} ALL=(ALL) ALL")
    nodes = made.folder / "plain"
    nodes.write_text("".join(f"{USER}@{made.machines[name].address}:{PORT}\n" for name in MINIMQ))
    argv = ["--system", "minimq", "--nodes-file", str(nodes), "--install", "--nemesis", "random-partition"]
    run = started(made, *argv, *short("--seed", "3", "--rate", "20"), CHAOS_SSH_PASSWORD=secret)
    spy = Spy(secret.encode(), run.pid)
    try:
        said = run.communicate(timeout=300)[0]
    finally:
        spy.end.set()
        spy.join()
        run.kill()
        run.wait()
    check_verdict(run.returncode, (made.folder / "store" / "current").resolve(), said)
    assert "report.html" in said
    assert '"proven":true' in (next(made.folder.glob("store/*/*/history/run.events"))).read_text()
    assert secret not in said
    assert spy.looked > 10
    assert spy.found == set()
    holding = [path for path in made.folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert holding == []


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("argv", "env", "says"),
    [
        ((), {}, "private key"),
        (("--known-hosts", "/dev/null"), {}, "is not in /dev/null; compare it and log in once by hand, or give"),
        (("--key", "/no/such"), {}, "--key /no/such: there is no such file; name a private key"),
        (("--user", USER), {"CHAOS_SSH_PASSWORD": "wrong"}, f"login of {USER} refused: Authentication failed"),
    ],
)
def test_who_is_not_let_in_ends_in_254_with_one_line(lab, argv, env, says):
    made = lab("b1")
    nodes = made.folder / "nodes"
    key = "" if "--key" in argv or env else f"key: {made.key if argv else made.known_hosts}\n"
    address = made.machines["b1"].address
    others = "".join(f"  - {address.rpartition('.')[0]}.{number}:{PORT}\n" for number in range(201, 206))
    nodes.write_text(f"{key}nodes:\n  - {{name: c1, address: {address}, port: {PORT}}}\n{others}")
    code, said = chaos(made, "--system", "minimq", "--nodes-file", str(nodes), *argv, **env)
    assert code == 254, said
    assert says in said
    assert "Traceback" not in said
    assert "wrong" not in said.replace("wrong:", "")


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--backend", "ssh"], "--backend ssh: name the machines in a file, one a line, and give it as --nodes-file"),
        (["--nodes-file", "none"], "--nodes-file none: No such file or directory"),
        (["--nodes-file", "odd"], "odd:2: unknown key 'adress'; did you mean address?"),
        (["--backend", "netns", "--nodes-file", "odd"], "--backend netns has no --nodes-file; it belongs to"),
        (["--nodes-file", "good", "--watchdog", "0"], "--watchdog 0: give a duration above 0"),
        (["--nodes-file", "good", "--port", "0"], "--port"),
    ],
)
def test_bad_options_end_in_254_before_anything_is_made(tmp_path, argv, says):
    (tmp_path / "odd").write_text("nodes:\n  - {adress: n1}\n")
    (tmp_path / "good").write_text("n1\n")
    command = [sys.executable, "-m", "chaos", "run", "--system", "minimq", *argv]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode == 254, done.stdout + done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("store/*/*"))
