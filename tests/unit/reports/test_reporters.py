"""Reporters come through entry points; JUnit's XML says of a run what its verdict says."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
import synthetic
from command_lines import said_of_each

from chaos.core.errors import UsageError
from chaos.core.verdict import Results
from reports import reporter
from reports.folder import read_parts
from reports.junit import JUnitReporter

pytestmark = pytest.mark.broad

SHORT = '''
class Short:
    """One line."""
    name = "short"
    help = "the verdict in a line"
    file = "{file}"
    def render(self, parts):
        return f"{{parts.run.id}} {{parts.results.valid}}"
'''


def installed(site: Path, entry: str, source: str) -> None:
    """A package of one module with one reporter, as pip would leave it."""
    info = site / "short-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "short_report.py").write_text(source)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: short\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[chaos.reporters]\n{entry}\n")


def cases(folder: Path) -> dict[str, ET.Element]:
    """The test cases of a run by name."""
    suite = ET.fromstring(JUnitReporter().render(read_parts(folder)))  # noqa: S314 - our own
    found = {str(case.get("name")): case for case in suite}
    assert suite.get("tests") == str(len(found))
    for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert suite.get(attribute) == str(sum(case.find(tag) is not None for case in found.values()))
    return found


def test_a_reporter_of_another_package_writes_its_file(tmp_path):
    installed(tmp_path / "site", "short = short_report:Short", SHORT.format(file="short.txt"))
    run = synthetic.write(tmp_path / "run", "valid", points=50)
    lines = [["report", str(run), "--as", "short"], ["list", "reporters", "--json"]]
    done, listed = said_of_each(lines, site=tmp_path / "site")
    assert (done.code, done.out.strip()) == (0, str(run / "short.txt"))
    assert (run / "short.txt").read_text().endswith(" True")
    assert not (run / "report.html").exists()
    assert [row["name"] for row in json.loads(listed.out)] == ["html", "junit", "short", "summary"]


@pytest.mark.parametrize(
    ("entry", "source", "why"),
    [
        ("long = short_report:Short", SHORT.format(file="short.txt"), "leads to the reporter 'short'"),
        ("short = short_report:Short", SHORT.format(file="../short.txt"), "must be a plain name"),
        ("short = short_report:Short", SHORT.format(file="report.html"), "is that of html"),
        ("short = short_report:Short", "class Short:\n    name = 'short'", "is no reporter: it has no help, file"),
        ("short = short_report:Short", "import no_such_module", "no_such_module"),
    ],
    ids=["name", "place", "file", "shape", "import"],
)
def test_one_that_does_not_load_is_listed_with_its_error_and_harms_nobody(entry, source, why, tmp_path):
    installed(tmp_path / "site", entry, source)
    run = synthetic.write(tmp_path / "run", "valid", points=50)
    name = entry.split(" ", maxsplit=1)[0]
    lines = [["list", "reporters"], ["report", str(run)], ["report", str(run), "--as", name]]
    listed, written, asked = said_of_each(lines, site=tmp_path / "site")
    assert why in listed.out
    assert written.code == 0
    assert asked.code == UsageError.exit_code
    assert len(asked.err.splitlines()) == 1


def test_what_is_there_is_written_again_and_nothing_else(tmp_path):
    run = synthetic.write(tmp_path / "run", "invalid", points=50)
    assert [path.name for path in reporter.write(run)] == ["report.html"]
    reporter.write(run, ["junit"])
    (run / "junit.xml").write_text("old")
    assert [path.name for path in reporter.write(run)] == ["report.html", "junit.xml"]
    assert (run / "junit.xml").read_text() != "old"
    page = (run / "report.html").read_text()
    assert "junit.xml" not in page, "what reporters wrote is not listed, so a page does not depend on their order"


def test_a_failure_says_what_was_found(tmp_path):
    run = synthetic.write(tmp_path / "run", "invalid", points=50)
    results = msgspec.json.decode((run / "results.json").read_bytes(), type=Results)
    found = cases(run)
    assert set(found) == {*(check.name for check in results.checks), *results.declined}
    for check in results.checks:
        failure = found[check.name].find("failure")
        assert (failure is not None) == (check.valid is False)
        if failure is not None:
            assert failure.get("message") == check.found
            assert results.sentence in (failure.text or "")


@pytest.mark.parametrize("kind", list(synthetic.KINDS))
def test_every_kind_of_run_gives_xml(kind, tmp_path):
    run = synthetic.write(tmp_path / "run", kind, points=50)
    assert cases(run)


def test_a_run_without_a_verdict_is_an_error(tmp_path):
    run = synthetic.write(tmp_path / "run", "crashed", points=50)
    (run / "results.json").unlink(missing_ok=True)
    found = cases(run)
    assert list(found) == ["run"]
    assert found["run"].find("error") is not None


def test_a_run_asks_for_reporters_that_there_are():
    from chaos.options.resolve import experiment_of

    assert experiment_of({}).reports == ("html",)
    assert experiment_of({"reports": ("html", "junit")}).reports == ("html", "junit")
    with pytest.raises(UsageError, match="--report junot: no such reporter; did you mean junit"):
        experiment_of({"reports": ("junot",)})
