"""The cache of jars: complete or absent, whatever is cut off, and one fetch for two who ask at once.

A shell script named mvn stands in for Maven, because Maven cannot be told to fail half-way; the real one
fetches for the end-to-end tests.
"""

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from chaos.core.errors import CapabilityError, DeployError
from cluster.systems._shared import maven
from cluster.systems._shared.cache import cache_root
from cluster.systems.rocketmq.artefacts import DISTRIBUTION

MVN = """#!/bin/sh
echo "$@" >> "$CALLS"
for word in "$@"; do case $word in -DoutputDirectory=*) out=${word#*=};; esac; done
mkdir -p "$out" && cp "$JARS"/*.jar "$out" || exit 1
echo "Downloaded from somewhere"
%s
"""
FETCH = """
from cluster.systems._shared.maven import fetch
from cluster.systems.rocketmq.artefacts import DISTRIBUTION
print(fetch(DISTRIBUTION, lambda line: print(line, flush=True)))
"""


@pytest.fixture
def place(tmp_path):
    """An environment with a cache, stand-ins for mvn and java, and two jars to fetch."""
    jars, tools = tmp_path / "jars", tmp_path / "tools"
    jars.mkdir()
    tools.mkdir()
    (jars / "some-1.jar").write_bytes(b"jar" * 100)
    with zipfile.ZipFile(jars / "rocketmq-rocksdb-1.0.6.jar", "w") as archive:
        archive.writestr("librocksdbjni-linux64.so", b"x86")
        archive.writestr("librocksdbjni-linux-aarch64.so", b"arm")
    tool(tools, "java", "#!/bin/sh\n")
    tool(tools, "mvn", MVN % "")
    return {
        "PATH": f"{tools}:/usr/bin:/bin",
        "CHAOS_CACHE": str(tmp_path / "cache"),
        "JARS": str(jars),
        "CALLS": str(tmp_path / "calls"),
        "TOOLS": str(tools),
        "HOME": str(tmp_path),
    }


def tool(folder, name, text):
    path = Path(folder) / name
    path.write_text(text)
    path.chmod(0o755)


def fetch(place):
    said = []
    return maven.fetch(DISTRIBUTION, said.append, place), said


def calls(place):
    path = Path(place["CALLS"])
    return len(path.read_text().splitlines()) if path.exists() else 0


def start(place):
    root = str(Path(maven.__file__).parents[3])
    return subprocess.Popen(
        [sys.executable, "-c", FETCH],
        env={**place, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def until(condition, what):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, f"waited 20 s for {what}"
        time.sleep(0.01)


def test_fetched_once(place):
    folder, said = fetch(place)
    assert sorted(path.name for path in (folder / "lib").iterdir()) == ["rocketmq-rocksdb-1.0.6.jar", "some-1.jar"]
    assert [path.read_bytes() for path in (folder / "native").iterdir()] in ([b"x86"], [b"arm"])
    assert "fetching" in said[0]
    assert "3 files" in said[-1]
    assert maven.damaged_files(folder) == []
    assert fetch(place) == (folder, [])
    assert calls(place) == 1


@pytest.mark.parametrize("damage", ["shorter", "missing", "surplus", "no manifest", "torn manifest"])
def test_a_damaged_folder_is_fetched_again(place, damage):
    folder, _ = fetch(place)
    jar, manifest = folder / "lib" / "some-1.jar", folder / "manifest.json"
    if damage == "shorter":
        jar.write_bytes(b"jar")
    elif damage == "missing":
        jar.unlink()
    elif damage == "surplus":
        (folder / "lib" / "other.jar").write_bytes(b"")
    elif damage == "no manifest":
        manifest.unlink()
    else:
        manifest.write_bytes(manifest.read_bytes()[:50])
    assert not maven.is_complete(folder)
    again, _ = fetch(place)
    assert again == folder
    assert maven.is_complete(folder)
    assert calls(place) == 2


def test_the_thorough_look_finds_what_the_cheap_one_does_not(place):
    folder, _ = fetch(place)
    jar = folder / "lib" / "some-1.jar"
    jar.write_bytes(b"rat" * 100)
    (folder / "native" / "new.so").write_bytes(b"")
    assert maven.damaged_files(folder) == ["lib/some-1.jar", "native/new.so"]


def test_two_at_once_fetch_once(place):
    tool(place["TOOLS"], "mvn", MVN % "sleep 1")
    both = [start(place), start(place)]
    outputs = [process.communicate(timeout=60)[0].splitlines() for process in both]
    assert outputs[0][-1] == outputs[1][-1]
    assert calls(place) == 1
    assert sum("another run is fetching it" in " ".join(lines) for lines in outputs) == 1


def test_cut_off_in_the_middle(place):
    tool(place["TOOLS"], "mvn", MVN % "exec sleep 60")
    process = start(place)
    cache = Path(place["CHAOS_CACHE"])
    until(lambda: any(cache.glob("*.partial-*/lib/some-1.jar")), "the jars of the run that will be killed")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not [path for path in cache.iterdir() if path.is_dir() and maven.is_complete(path)]
    tool(place["TOOLS"], "mvn", MVN % "")
    folder, _ = fetch(place)
    assert maven.damaged_files(folder) == []
    assert [path for path in cache.iterdir() if path.is_dir()] == [folder]


def test_maven_fails_in_one_line_that_names_its_log(place):
    tool(place["TOOLS"], "mvn", "#!/bin/sh\necho no network\nexit 1\n")
    with pytest.raises(DeployError, match=r"exit 1.*rocketmq-5\.5\.0-.*\.log") as caught:
        fetch(place)
    assert "\n" not in str(caught.value)
    cache = Path(place["CHAOS_CACHE"])
    (log,) = cache.glob("rocketmq-5.5.0-*.log")
    assert "no network" in log.read_text()
    assert not [path for path in cache.iterdir() if path.is_dir()]


@pytest.mark.parametrize(("program", "package"), [("java", "openjdk-17-jre-headless"), ("mvn", "maven")])
def test_a_missing_tool_names_the_command(place, program, package):
    (Path(place["TOOLS"]) / program).unlink()
    place["PATH"] = place["TOOLS"]
    with pytest.raises(CapabilityError, match=rf"needs {program}.*apt-get install {package}"):
        fetch(place)


def test_maven_is_not_needed_once_the_jars_are_there(place):
    folder, _ = fetch(place)
    (Path(place["TOOLS"]) / "mvn").unlink()
    place["PATH"] = place["TOOLS"]
    assert fetch(place) == (folder, [])


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        ({"CHAOS_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/chaos"),
        ({"HOME": "/h"}, "/h/.cache/chaos"),
    ],
)
def test_where_the_cache_is(environment, root):
    assert cache_root(environment) == Path(root)
