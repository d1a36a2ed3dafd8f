"""Hosts come up, reach each other and nothing else, run what they are told, and keep to themselves."""

import signal
import subprocess
import sys
from ipaddress import ip_address, ip_network
from pathlib import Path

import host_contract
import pytest
from host_support import BACKENDS, make, marked, until

from chaos.core.errors import CapabilityError, DeadlineError, DeployError, UsageError
from cluster.host import Capability, NodeSpec, check_programs, hosts_up
from cluster.network import probe_matrix

pytestmark = pytest.mark.e2e


def gone(up):
    return lambda words: until(lambda: not any(words in line for line in marked(up.run_id).values()), f"{words} to end")


def test_seven_hosts_reach_each_other_by_name_and_nothing_else(sandbox):
    up = sandbox(*(f"b{n}" for n in range(1, 8)))
    assert list(up.hosts) == ["b1", "b2", "b3", "b4", "b5", "b6", "b7", "client"]
    assert len({host.address for host in up.hosts.values()}) == 8
    for name, host in up.hosts.items():
        assert host.run("hostname", timeout_s=5).text == name
        assert host.run("id", "-u", timeout_s=5).text == "0"
        assert host.capabilities >= frozenset(Capability) - {Capability.MACHINE, Capability.DISK}
        assert (host.machine is not None) == (Capability.MACHINE in host.capabilities)
        assert (host.machine is None) == (Capability.DISK in host.capabilities), "containers may not mount"
        for other, peer in up.hosts.items():
            assert host.run("getent", "hosts", other, timeout_s=5).text.split()[0] == peer.address
        assert host.run("ip", "route", "get", "192.0.2.1", timeout_s=5).returncode != 0
        assert ip_address(host.address) in ip_network("198.18.0.0/15")
        (route,) = host.run("ip", "-o", "route", timeout_s=5).text.splitlines()
        assert route.split()[1:3] == ["dev", "eth0"]
        assert ip_network(route.split()[0]).subnet_of(ip_network("198.18.0.0/15"))
    seen = probe_matrix.measure(up.hosts, 5)
    assert len(seen.received) == 56
    assert seen.complete() == seen.received.keys()


def test_hosts_have_private_folders_and_a_home_in_the_work_folder(sandbox):
    up = sandbox("b1", "b2")
    for folder in ("/tmp", "/dev/shm", "/run"):  # noqa: S108
        up.hosts["b1"].put(b"mine", f"{folder}/chaos-test-file")
        assert up.hosts["b2"].run("cat", f"{folder}/chaos-test-file", timeout_s=5).returncode != 0
        assert not Path(folder, "chaos-test-file").exists()
    host = up.hosts["b1"]
    host.put(b"at home", f"{host.home}/file")
    assert (up.work / "b1" / "file").read_bytes() == b"at home"
    assert host.run("pwd", timeout_s=5).text == host.home == str(up.work / "b1")


def test_a_host_sees_its_own_processes_only(sandbox):
    up = sandbox("b1", "b2")
    up.hosts["b2"].run("sh", "-c", "sleep 987 >/dev/null 2>&1 &", timeout_s=5).check()

    def commands(name):
        return up.hosts[name].run("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '", timeout_s=5).text

    until(lambda: "sleep 987" in commands("b2"), "its command")  # there is none while it is being executed
    assert "987" not in commands("b1")


def test_run_gives_back_what_the_command_did(sandbox):
    host_contract.gives_back_what_the_command_did(sandbox("b1").hosts["b1"])


def test_commands_see_a_clean_environment(sandbox, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("SECRET_OF_THE_HARNESS", "1")
    up = sandbox("b1")
    names = {line.partition("=")[0] for line in up.hosts["b1"].run("env", timeout_s=5).text.splitlines()}
    given = {"PATH", "LANG", "HOME", "TMPDIR", "XTABLES_LOCKFILE", "CHAOS_RUN", "CHAOS_OWNER"}
    assert names - {"JAVA_HOME", "PWD"} == given


def test_commands_and_processes_inside_get_three_descriptors(sandbox):
    up = sandbox("b1")
    host_contract.gives_a_command_three_descriptors(up.hosts["b1"])
    inside = up.backend.popen_inside(["sh", "-c", "ls /proc/$$/fd"], {}).communicate(timeout=20)[0]
    assert inside.split() == [b"0", b"1", b"2"]


def test_many_commands_at_once_on_one_host(sandbox):
    host_contract.takes_many_commands_at_once(sandbox("b1").hosts["b1"])


def test_a_timeout_kills_the_command_and_its_children(sandbox):
    up = sandbox("b1")
    host_contract.kills_what_a_command_started_when_its_time_is_up(up.hosts["b1"], gone(up))


def test_a_command_has_ended_when_its_process_has(sandbox):
    host_contract.ends_a_command_with_its_process(sandbox("b1").hosts["b1"])


def test_output_has_a_bound(sandbox):
    up = sandbox("b1")
    host_contract.bounds_what_a_command_writes(up.hosts["b1"], gone(up))


def test_files_go_both_ways_whole_or_not_at_all(sandbox, tmp_path):
    host_contract.copies_files_whole_or_not_at_all(sandbox("b1").hosts["b1"], tmp_path)


@pytest.mark.parametrize("name", BACKENDS)
def test_provided_folders_are_seen_by_every_host(name, tmp_path, monkeypatch):
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path / "cache"))
    backend = make(name)
    paths = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text(folder)
        paths.append(backend.provide(tmp_path / folder))
    assert backend.provide(tmp_path / "two") == paths[1]
    (tmp_path / "work").mkdir()
    with hosts_up(backend, "provide", [NodeSpec(name="b1", role="x")], tmp_path / "work") as hosts:
        for host in hosts.values():
            assert [host.run("cat", f"{path}/file", timeout_s=5).text for path in paths] == ["one", "two"]


def test_a_program_that_is_missing_is_named(sandbox):
    host = sandbox("b1").hosts["b1"]
    check_programs(host, ("python3", "iptables"), "this test")
    with pytest.raises(CapabilityError, match="b1: this test has no no-such, no nor-this on its PATH; "):
        check_programs(host, ("sh", "no-such", "nor-this"), "this test")


def test_what_lost_its_parent_is_reaped(sandbox):
    host = sandbox("b1").hosts["b1"]
    host.run("sh", "-c", "(sleep 0.2 & ) ; (sleep 0.2 &)", timeout_s=5).check()
    names = ("sh", "-c", "cat /proc/[0-9]*/comm")  # a zombie keeps its name
    until(lambda: "sleep" not in host.run(*names, timeout_s=5).text, "what lost its parent to be gone")


def test_a_process_inside_is_in_the_clients_network_and_in_this_file_system(sandbox, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    up = sandbox("b1")
    code = "import os,sys; open('made','w').write(os.environ['EXTRA']); print(os.uname().nodename, sys.stdin.read())"
    child = up.backend.popen_inside([sys.executable, "-c", code], {"EXTRA": "given"})
    assert child.communicate(b"hello", timeout=20)[0] == b"client hello\n"
    assert child.returncode == 0
    assert (tmp_path / "made").read_text() == "given"
    route = up.backend.popen_inside(["ip", "-br", "address", "show", "eth0"], {}).communicate(timeout=20)[0]
    assert up.hosts["client"].address.encode() in route


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", -9), ("kill -15 $$", -15)])
def test_a_process_inside_ends_as_its_child_does(sandbox, script, code):
    child = sandbox("b1").backend.popen_inside(["sh", "-c", script], {})
    child.communicate(timeout=20)
    assert child.returncode == code


def test_killing_a_process_inside_kills_the_child(sandbox):
    up = sandbox("b1")
    for end in (subprocess.Popen.kill, subprocess.Popen.terminate):
        child = up.backend.popen_inside(["sh", "-c", "echo here; exec sleep 4321"], {})
        assert child.stdout is not None
        assert child.stdout.readline() == b"here\n"
        end(child)
        child.communicate(timeout=20)
        until(lambda: not any("4321" in line for line in marked(up.run_id).values()), "the child to be gone")


def test_down_ends_everything_and_may_be_repeated(sandbox):
    up = sandbox("b1")
    up.hosts["b1"].run("sh", "-c", "sleep 5000 >/dev/null 2>&1 &", timeout_s=5).check()
    child = up.backend.popen_inside(["sleep", "5000"], {})
    up.hosts["b1"].put(b"kept", f"{up.hosts['b1'].home}/data/file")
    up.backend.down()
    child.communicate(timeout=10)
    assert child.returncode == -signal.SIGKILL
    until(lambda: not marked(up.run_id), "all processes to be gone")
    assert (up.work / "b1" / "data" / "file").read_bytes() == b"kept"
    assert not (up.work / "b1" / "tmp").exists()
    up.backend.down()
    with pytest.raises(DeployError, match="host b1 is gone"):
        up.hosts["b1"].run("true", timeout_s=5)
    with pytest.raises(DeployError, match="call up"):
        up.backend.popen_inside(["true"], {})


def test_a_backend_is_up_once(sandbox, tmp_path):
    up = sandbox("b1")
    with pytest.raises(UsageError, match="up already"):
        up.backend.up("again", [], tmp_path)
    assert up.hosts["b1"].run("echo", "unharmed", timeout_s=5).text == "unharmed"


def test_no_descriptor_stays_open(sandbox):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        up = sandbox("b1", "b2")
        up.hosts["b1"].run("true", timeout_s=5)
        up.backend.popen_inside(["true"], {}).communicate(timeout=20)
        with pytest.raises(DeadlineError):
            up.hosts["b1"].run("sleep", "60", timeout_s=0.05)
        up.backend.down()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
