"""A part of the tests leaves out only files that cannot have any of its tests."""

import subprocess
import sys
import tomllib

import pytest
from marks_named import OURS, can_match, marks_in, names_of
from repository import ROOT, TESTS

UNIT = "not e2e and not spark and not longer"


@pytest.mark.parametrize(
    ("asked", "named", "taken"),
    [
        (f"{UNIT} and broad", {"broad"}, True),
        (f"{UNIT} and broad", {"broad", "e2e"}, True),  # one test may be broad, another not
        (f"{UNIT} and broad", {"e2e", "longer"}, False),
        (f"{UNIT} and broad", set(), False),
        (f"{UNIT} and not broad", {"broad", "e2e"}, True),
        ("(e2e or spark) and not longer", {"longer", "spark"}, True),
        ("(e2e or spark) and not longer", {"broad"}, False),
        ("longer", {"longer"}, True),
        ("not longer", set(), True),
    ],
)
def test_a_file_is_taken_if_any_of_its_marks_could_do(asked, named, taken):
    assert can_match(asked, named & names_of(asked)) is taken


def test_the_marks_of_the_project_are_known():
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
    assert {line.partition(":")[0] for line in told} == OURS


def test_a_file_can_have_what_it_names_and_be_broad_for_its_place_or_its_browser(tmp_path):
    path = tmp_path / "test_it.py"
    path.write_text("@pytest.mark.e2e\ndef test_it(): ...\n")
    assert marks_in(path, ["e2e", "spark", "broad"]) == {"e2e"}
    path.write_text("def test_it(open_page): ...\n")
    assert marks_in(path, ["e2e", "broad"]) == {"broad"}
    assert marks_in(TESTS / "property" / "checkers" / "test_assumptions_clock.py", ["broad"]) == {"broad"}


def test_a_mark_that_comes_from_elsewhere_is_an_error(tmp_path):
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS / 'support'} {tmp_path}\nmarkers = e2e\n")
    (tmp_path / "elsewhere.py").write_text("import pytest\n\nHOSTS = pytest.mark.e2e\n")
    (tmp_path / "test_it.py").write_text("from elsewhere import HOSTS\n\n\n@HOSTS\ndef test_it(): ...\n")
    argv = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert "test_it.py: a test of it is e2e, and the file does not say so" in done.stdout + done.stderr
