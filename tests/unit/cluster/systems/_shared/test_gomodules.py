"""Programs built from Go modules: complete or absent in the cache, whatever is cut off, and one build for two at once.

A shell script named go stands in for Go, because the real one cannot be told to fail half-way; it builds for the
end-to-end tests.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chaos.core.errors import CapabilityError, DeployError
from cluster.systems._shared import gomodules
from cluster.systems._shared.gomodules import GoProgram, build_program, needs

PROGRAM = GoProgram("tiny", "Tiny", "1.2.3", "some.org/tiny/v2", (("tiny", "some.org/tiny/v2/cmd"),), "a minute")
GO = """#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in
  version) echo "go version go%s linux/amd64";;
  "mod download -json some.org/tiny/v2@v1.2.3") echo '{"Dir": "'$SOURCE'", "Version": "v1.2.3"}';;
  "mod download "*) printf '%%s' '{"Error": "not found: unknown\\n revision"}'; exit 1;;
  *" build "*)
    cd "$2" && cat go.mod > "$CALLS.mod" && touch go.sum
    while [ "$1" != -o ]; do shift; done
    %s
    echo "go: downloading some.org/other v1.0.0" >&2
    echo "some.org/other" >&2
    mkdir -p "$(dirname "$2")" && printf '#!/bin/sh\\necho enable "$@" >> "$CALLS"\\n' > "$2" && chmod +x "$2";;
esac
"""
BUILD = """
from cluster.systems._shared.gomodules import GoProgram, build_program
print(build_program(GoProgram(*%r), lambda line: print(line, flush=True)))
"""


@pytest.fixture
def place(tmp_path):
    """An environment with a cache, a stand-in for go, and the source of a module."""
    source, tools = tmp_path / "source", tmp_path / "tools"
    (source / "with").mkdir(parents=True)
    tools.mkdir()
    (source / "with" / "it.go").write_text("package with\n\tfunc f() {\n\t// gofail: var here struct{}\n\t}\n")
    (source / "plain.go").write_text("package plain\n")
    for path in (source / "with" / "it.go", source / "plain.go"):
        path.chmod(0o444)
    place = {
        "PATH": f"{tools}:/usr/bin:/bin",
        "CHAOS_CACHE": str(tmp_path / "cache"),
        "CALLS": str(tmp_path / "calls"),
        "SOURCE": str(source),
        "TOOLS": str(tools),
        "HOME": str(tmp_path),
    }
    go(place)
    return place


def go(place, release="1.22.3", does=""):
    path = Path(place["TOOLS"]) / "go"
    path.write_text(GO % (release, does))
    path.chmod(0o755)


def build(place, program=PROGRAM):
    said = []
    return build_program(program, said.append, place), said


def calls(place, word):
    return [line for line in Path(place["CALLS"]).read_text().splitlines() if word in line]


def start(place):
    root = str(Path(gomodules.__file__).parents[3])
    argv = [sys.executable, "-c", BUILD % (tuple(PROGRAM),)]
    env = {**place, "PYTHONPATH": root}
    return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True)


def test_built_once(place):
    folder, said = build(place)
    assert sorted(path.name for path in folder.iterdir()) == ["go.mod", "go.sum", "tiny"]
    assert os.access(folder / "tiny", os.X_OK)
    assert "building it with go into " in said[0]
    assert said[-1].startswith("Tiny 1.2.3: built, ")
    assert build(place) == (folder, [])
    assert len(calls(place, "build")) == 1
    assert Path(place["CALLS"] + ".mod").read_text().splitlines() == [
        "module chaos/tiny",
        "go 1.21",
        "require some.org/tiny/v2 v1.2.3",
    ]


def test_with_failpoints_the_source_is_changed_in_a_copy(place):
    program = PROGRAM._replace(instrumented=("some.org/tiny/v2",))
    folder, _ = build(place, program)
    assert folder != build(place)[0], "it is kept apart from what is released"
    (enabled,) = calls(place, "enable enable")
    assert enabled.endswith("/work/source/tiny/with"), "the package with a failpoint alone"
    assert "// gofail" in Path(place["SOURCE"], "with", "it.go").read_text()
    assert not [path for path in folder.parent.iterdir() if "partial" in path.name]
    assert program.name == "Tiny 1.2.3 with gofail"


def test_the_module_is_replaced_by_its_changed_copy():
    text = gomodules.go_mod(PROGRAM._replace(instrumented=("a",)), {"a": "./source/a"})
    assert "require go.etcd.io/gofail v0.2.0\nreplace a => ./source/a\n" in text


def test_two_at_once_build_once(place):
    go(place, does="sleep 1")
    both = [start(place), start(place)]
    outputs = [process.communicate(timeout=60)[0].splitlines() for process in both]
    assert outputs[0][-1] == outputs[1][-1]
    assert len(calls(place, "build")) == 1
    assert sum("another run is fetching it" in " ".join(lines) for lines in outputs) == 1


def test_cut_off_in_the_middle(place):
    go(place, does='mkdir -p "$(dirname "$2")" && touch "$2" && exec sleep 60')
    process = start(place)
    cache = Path(place["CHAOS_CACHE"])
    end = time.monotonic() + 20
    while not any(cache.glob("*.partial-*/made/tiny")):
        assert time.monotonic() < end, "the build that will be killed has not begun within 20 s"
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not gomodules.folder_in(PROGRAM, cache).exists()
    go(place)
    folder, _ = build(place)
    assert [path for path in cache.iterdir() if path.is_dir()] == [folder]


def test_a_build_that_fails_names_its_log(place):
    go(place, does="echo 'x.go:1: undefined: y' >&2; exit 1")
    with pytest.raises(
        DeployError, match=r"exit 1\): x\.go:1: undefined: y; all of it is in .*tiny-1\.2\.3.*\.log"
    ) as caught:
        build(place)
    assert "\n" not in str(caught.value)
    assert not [path for path in Path(place["CHAOS_CACHE"]).iterdir() if path.is_dir()]


def test_a_version_that_the_registry_does_not_have(place):
    with pytest.raises(CapabilityError) as caught:
        build(place, PROGRAM._replace(version="9.9.9"))
    assert str(caught.value) == (
        "Tiny 9.9.9 cannot be had from the Go module registry: not found: unknown revision; "
        "go list -m -versions some.org/tiny/v2 names others"
    )


@pytest.mark.parametrize(
    ("release", "why"), [(None, "there is none on the PATH"), ("1.19.8", "it takes 1.21 or later, and here is 1.19")]
)
def test_without_a_go_that_will_do(place, release, why):
    if release is None:
        (Path(place["TOOLS"]) / "go").unlink()
        place["PATH"] = place["TOOLS"]
    else:
        go(place, release)
    with pytest.raises(CapabilityError) as caught:
        build(place)
    assert str(caught.value) == f"Tiny 1.2.3 is built by go: {why}; {gomodules.GO_HELP}"
    need = needs(PROGRAM, place)
    assert (need.met, need.detail, need.help) == (False, f"Tiny 1.2.3 is built by go: {why}", gomodules.GO_HELP)


def test_what_is_needed(place):
    assert needs(PROGRAM, place).detail.startswith("the first run builds Tiny 1.2.3 by go into ")
    folder, _ = build(place)
    (Path(place["TOOLS"]) / "go").unlink()
    place["PATH"] = place["TOOLS"]
    assert needs(PROGRAM, place).detail == f"1.2.3 in {folder}"
    assert build(place) == (folder, []), "go is not needed any more"
