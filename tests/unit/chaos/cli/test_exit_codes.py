"""Every exit code that docs/reference/command-line.md names, got from the real process."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from command_lines import said_here
from repository import ROOT

pytestmark = pytest.mark.broad

CHAOS = [sys.executable, "-m", "chaos"]
DEADLINE_S = 300
SIM = ["run", "--backend", "sim", "--nemesis", "leader-kill", "--seed", "3"]


def ended(*argv: str, **options: str) -> tuple[int, str]:
    """The exit code of a command in the folder of today's test, and its last words."""
    done = subprocess.run([*CHAOS, *argv], capture_output=True, text=True, timeout=DEADLINE_S, check=False, **options)
    return done.returncode, (done.stdout + done.stderr)[-2000:]


def made(name: str, *more: str) -> str:
    assert said_here("generate", "--ops", "2000", "--output", name, *more).code == 0
    return name


def passes() -> tuple[int, str]:
    return ended(*SIM, "--time-limit", "30")


def fails() -> tuple[int, str]:
    return ended("check", made("red", "--anomaly", "lost-write=1"))


def is_unknown() -> tuple[int, str]:
    return ended("run", "--backend", "sim", "--nemesis", "noop", "--rate", "5", "--time-limit", "1")


def is_interrupted() -> tuple[int, str]:
    """Ctrl-C when the load has begun."""
    argv = [*CHAOS, *SIM, "--time-limit", "1h"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        deadline = threading.Timer(DEADLINE_S, process.kill)
        deadline.start()
        assert process.stdout is not None
        while process.stdout.readline().startswith("[setup"):
            pass
        process.send_signal(signal.SIGINT)
        said = process.stdout.read()
        code = process.wait()
        deadline.cancel()
    assert "interrupted" in said
    assert re.search("PASS|FAIL|UNKNOWN", said), "it was judged"
    return code, said


def is_not_read() -> tuple[int, str]:
    """Whoever reads the output has gone away."""
    reader, writer = os.pipe()
    os.close(reader)
    argv = [*CHAOS, "show", made("run")]
    done = subprocess.run(argv, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S, check=False)
    os.close(writer)
    return done.returncode, done.stderr


def is_refused() -> tuple[int, str]:
    return ended("run", "--rate", "0")


def breaks() -> tuple[int, str]:
    """A part of chaos comes from somebody else's package."""
    (Path.cwd() / "nemesis").mkdir()
    (Path.cwd() / "nemesis" / "__init__.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "chaos", *SIM],
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    return done.returncode, done.stderr


CASES: dict[int, Callable[[], tuple[int, str]]] = {
    0: passes,
    1: fails,
    2: is_unknown,
    130: is_interrupted,
    141: is_not_read,
    254: is_refused,
    255: breaks,
}


def codes_of(page: str) -> set[int]:
    """The codes in the tables of a page whose first or last column has exit codes."""
    found: set[int] = set()
    for table in re.findall(r"(?:^\|.*\n)+", (ROOT / page).read_text(), re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
        if "exit code" in head:
            column = head.index("exit code")
            column = column if column == 0 else -1
            found |= {int(code) for row in rows for code in re.findall(r"\d+", row[column])}
    return found


def test_every_code_of_the_reference_has_a_case() -> None:
    assert codes_of("docs/reference/command-line.md") == set(CASES)


@pytest.mark.parametrize("page", ["docs/guide/ci.md", "docs/guide/ssh.md", "docs/guide/backends.md"])
def test_other_pages_name_no_other_code(page: str) -> None:
    assert set() < codes_of(page) <= set(CASES)


@pytest.mark.parametrize("code", CASES)
def test_the_process_ends_with_it(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    got, said = CASES[code]()
    assert got == code, said


def test_of_several_paths_the_worst_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    good, red = made("good"), made("red", "--anomaly", "lost-write=1")
    assert [ended("check", *paths)[0] for paths in ((good,), (good, "gone"), ("gone", good, red))] == [0, 254, 1]
