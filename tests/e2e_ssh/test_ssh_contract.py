"""A machine reached by SSH keeps the promises of all hosts; one machine, up once, is asked again and again."""

from pathlib import Path

import host_contract
import pytest
from host_support import until

from chaos.core.errors import UsageError

pytestmark = pytest.mark.e2e


def gone(host):
    """Waits until no process that the host sees has some words in its command line, but for a shell that looks."""
    look = ("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    return lambda words: until(lambda: words not in host.run(*look, timeout_s=10).text, f"{words} to end")


def test_run_gives_back_what_the_command_did(contract):
    host_contract.gives_back_what_the_command_did(contract("b1").hosts["b1"])


def test_commands_see_a_clean_environment(contract, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("SECRET_OF_THE_HARNESS", "1")
    up = contract("b1")
    lines = up.hosts["b1"].run("env", timeout_s=10).text.splitlines()
    env = dict(line.split("=", 1) for line in lines)
    assert {"PATH", "LANG", "HOME", "TMPDIR", "CHAOS_RUN"} <= env.keys()
    assert env.keys() <= {"PATH", "LANG", "HOME", "TMPDIR", "CHAOS_RUN", "JAVA_HOME", "PWD", "XTABLES_LOCKFILE"} | {
        "CHAOS_OWNER",
        "CHAOS_COMMAND",
    }
    assert env["HOME"] == up.hosts["b1"].home == up.hosts["b1"].run("pwd", timeout_s=10).text
    assert "/usr/sbin" in env["PATH"].split(":")


def test_a_command_gets_three_descriptors(contract):
    host_contract.gives_a_command_three_descriptors(contract("b1").hosts["b1"])


def test_many_commands_at_once_on_one_host(contract):
    host_contract.takes_many_commands_at_once(contract("b1").hosts["b1"])


def test_a_timeout_kills_the_command_and_its_children(contract):
    host = contract("b1").hosts["b1"]
    host_contract.kills_what_a_command_started_when_its_time_is_up(host, gone(host))


def test_a_command_has_ended_when_its_process_has(contract):
    host_contract.ends_a_command_with_its_process(contract("b1").hosts["b1"])


def test_output_has_a_bound(contract):
    host = contract("b1").hosts["b1"]
    host_contract.bounds_what_a_command_writes(host, gone(host))


def test_files_go_both_ways_whole_or_not_at_all(contract, tmp_path: Path):
    host_contract.copies_files_whole_or_not_at_all(contract("b1").hosts["b1"], tmp_path)


def test_provided_folders_are_visible_on_hosts(contract, tmp_path: Path):
    up = contract("b1")
    (tmp_path / "given" / "below").mkdir(parents=True)
    (tmp_path / "given" / "below" / "file").write_text("content")
    (tmp_path / "given" / "program").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "given" / "program").chmod(0o755)
    for path in (up.backend.provide(tmp_path / "given"), up.backend.provide(tmp_path / "given")):
        assert up.hosts["b1"].run("cat", f"{path}/below/file", timeout_s=10).text == "content"
        assert up.hosts["b1"].run(f"{path}/program", timeout_s=10).text == "ran"


def test_a_backend_is_up_once(contract, tmp_path: Path):
    up = contract("b1")
    with pytest.raises(UsageError, match="up already"):
        up.backend.up("again", [], tmp_path)
    assert up.hosts["b1"].run("echo", "unharmed", timeout_s=10).text == "unharmed"
