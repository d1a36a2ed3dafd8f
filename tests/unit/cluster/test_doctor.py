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
