"""What is concluded from what tools print."""

import pytest

from cluster import doctor
from cluster.hosts.netns import HELP, SandboxError


@pytest.mark.parametrize(
    ("said", "release"),
    [
        ('openjdk version "17.0.13" 2024-10-15\nOpenJDK Runtime', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("command not found", None),
    ],
)
def test_java_releases(said, release):
    assert doctor.java_release(said) == release


def test_a_java_is_taken_only_if_it_is_new_enough(tmp_path, monkeypatch):
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = doctor.find_java(11)
    assert found == doctor.Java(str(old), 11)
    assert doctor.find_java(9000) is None


@pytest.mark.parametrize("step", HELP)
def test_a_refused_step_fails_it_and_all_that_follow(step):
    found = doctor._steps(SandboxError(step, "denied"))
    position = list(HELP).index(step)
    assert [fact.ok for fact in found] == [True] * position + [False] * (5 - position)
    assert found[position].detail == "denied"
    assert all(fact.help == HELP[step] for fact in found[position:])
    assert all(fact.ok for fact in doctor._steps(None))


def logins(tmp_path, monkeypatch, **environment):
    """What is said of ssh on a machine whose home has these."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("SSH_AUTH_SOCK", "CHAOS_SSH_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    (tmp_path / ".ssh").mkdir(exist_ok=True)
    return next(fact for fact in doctor.machines() if fact.name == "ssh")


def test_without_anything_to_log_in_with_ssh_is_absent_and_what_helps_is_said(tmp_path, monkeypatch):
    fact = logins(tmp_path, monkeypatch)
    assert (fact.ok, fact.optional) == (False, True)
    assert fact.detail.startswith("no key of the usual names, no agent, no ")
    assert "--accept-new" in fact.detail
    assert "ssh-keygen" in fact.help
    assert "--key FILE" in fact.help


def test_a_key_or_a_password_is_enough(tmp_path, monkeypatch):
    assert logins(tmp_path, monkeypatch, CHAOS_SSH_PASSWORD="x").ok
    (tmp_path / ".ssh" / "id_ed25519").write_text("")
    (tmp_path / ".ssh" / "id_ed25519.pub").write_text("")
    (tmp_path / ".ssh" / "known_hosts").write_text("")
    fact = logins(tmp_path, monkeypatch)
    assert (fact.ok, fact.help) == (True, "")
    assert fact.detail == f"keys id_ed25519, no agent, {tmp_path}/.ssh/known_hosts is there"


def test_an_agent_that_is_gone_holds_no_keys(tmp_path, monkeypatch):
    fact = logins(tmp_path, monkeypatch, SSH_AUTH_SOCK=str(tmp_path / "gone"))
    assert not fact.ok
    assert "an agent without keys" in fact.detail
