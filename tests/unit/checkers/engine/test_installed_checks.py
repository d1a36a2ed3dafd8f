"""Checks come through entry points: one of another package is listed, judges, and harms nobody if it is broken."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import said_of_each
from repository import HISTORIES

from chaos.core.errors import UsageError
from chaos.testing.history_files import load_history, write_run_folder
from checkers.engine import local_engine
from checkers.engine.installed_checks import OF_LOGS, checks, panel
from checkers.history.folder_integrity import context_of, evidence_of
from checkers.history.shards import load_timeline, materialise

pytestmark = pytest.mark.broad

OF_OTHERS = (
    "bank",
    "counter",
    "distinct-ids",
    "kv",
    "lease",
    "lock",
    "long-fork",
    "monotonic",
    "multi-register",
    "register",
    "replica-data",
    "semaphore",
    "set",
    "total-queue",
    "transactions",
    "watch",
)

ODD = '''
from chaos.core.anomaly_kind import AnomalyKind
from checkers.anomalies.findings import Finding, Findings, conclude_findings, merge_findings
from chaos.core.verdict import Example
from checkers.history.check import OfEachKey

class OddCheck(OfEachKey):
    """Counts acknowledged messages at odd offsets."""
    name = "odd"
    help = "no message sits at an odd offset"
    anomalies = (
        AnomalyKind(
            name="odd-offset", one="message at an odd offset", many="messages at odd offsets", meaning="an odd offset",
            expected="offsets are even", strength=100_000, rule="",
        ),
    )
    def examine(self, shard, context):
        log = shard.log
        odd = log.acked[log.offset[log.sends[log.acked]] % 2 == 1]
        example = Example(sentence=f"queue {shard.key} has {len(odd)}")
        found = {"odd-offset": Finding(count=len(odd), examples=(example,))} if len(odd) else {}
        return Findings(examined=len(log.acked), found=found)
    def merge(self, left, right):
        return merge_findings(left, right)
    def conclude(self, summary, context):
        return conclude_findings(self.name, summary, context, noun="message", clean="all even")
'''


def installed(folder: Path, name: str, entry: str, source: str) -> None:
    """A package of one module with one check, as pip would leave it."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[chaos.checks]\n{entry}\n")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_run_folder(load_history(HISTORIES / "gaps-are-legal.yaml"), tmp_path / "run")
    return tmp_path / "run"


def test_a_check_of_another_package_is_listed_with_its_anomalies(tmp_path):
    installed(tmp_path / "site", "odd_offsets", "odd = odd_offsets:OddCheck", ODD)
    listed, kinds = said_of_each([["list", "checks"], ["list", "anomalies", "--json"]], site=tmp_path / "site")
    assert re.search(r"^odd +no message sits at an odd offset$", listed.out, re.MULTILINE)
    anomalies = json.loads(kinds.out)
    assert anomalies[0]["name"] == "odd-offset", "the strongest first"


def test_a_check_of_another_package_judges_a_run(run, tmp_path):
    installed(tmp_path / "site", "odd_offsets", "odd = odd_offsets:OddCheck", ODD)
    (done,) = said_of_each([["check", str(run), "--check", "odd,group"]], site=tmp_path / "site")
    assert done.code == 1, done.err
    assert "at odd offsets: queue 0 has" in done.out or "at an odd offset: queue 0 has" in done.out
    assert "group: not judged, clients are no consumer group" in done.out


@pytest.mark.parametrize("assumed", [True, False])
def test_an_assumption_of_another_package_judges_whatever_is_asked_for(run, tmp_path, assumed):
    source = ODD.replace('help = "no', f'is_assumption = {assumed}\n    help = "no')
    installed(tmp_path / "site", "odd_offsets", "odd = odd_offsets:OddCheck", source)
    named = json.loads((run / "run.json").read_text())
    del named["checksum"]
    chosen = ["assumptions", "odd", "no-loss", "phantom"]
    (run / "run.json").write_text(json.dumps({**named, "status": "foreign", "checks": chosen}))
    (done,) = said_of_each([["check", str(run), "--check", "no-loss"]], site=tmp_path / "site")
    assert done.code == assumed, done.err
    rows = [line.split()[0] for line in done.out.splitlines() if line.split()]
    assert [name for name in rows if name in chosen] == [
        "assumptions",
        *(["odd"] if assumed else []),
        "no-loss",
    ]


def test_a_run_names_its_checks_and_one_that_is_not_installed_is_named(run):
    named = json.loads((run / "run.json").read_text())
    del named["checksum"]
    (run / "run.json").write_text(json.dumps({**named, "status": "foreign", "checks": ["assumptions", "odd"]}))
    with pytest.raises(UsageError, match="no check 'odd' here"):
        local_engine.judge(run)


@pytest.mark.parametrize(
    ("entry", "source", "why"),
    [
        ("even = odd_offsets:OddCheck", ODD, "leads to the check 'odd'; give both one name"),
        ("odd = odd_offsets:Nothing", ODD, "Nothing"),
        ("odd = odd_offsets:OddCheck", "import no_such_module", "no_such_module"),
        ("odd = odd_offsets:OddCheck", "class OddCheck:\n    name = 'odd'", "is no check: it has no help, anomalies"),
    ],
    ids=["name", "attribute", "import", "shape"],
)
def test_a_check_that_does_not_load_is_listed_with_its_error_and_harms_nobody(entry, source, why, run, tmp_path):
    installed(tmp_path / "site", "odd_offsets", entry, source)
    name = entry.split(" ", maxsplit=1)[0]
    lines = [["list", "checks"], ["check", str(run)], ["check", str(run), "--check", name]]
    listed, judged, asked = said_of_each(lines, site=tmp_path / "site")
    assert why in listed.out
    assert "every acknowledged message is in the final log" in listed.out
    assert judged.code == 0
    assert asked.code == UsageError.exit_code
    assert len(asked.err.splitlines()) == 1


def test_executors_are_brought_the_check(tmp_path):
    installed(tmp_path / "site", "odd_offsets", "odd = odd_offsets:OddCheck", ODD)
    code = (
        "from pathlib import Path; from zipfile import ZipFile; from spark_checkers.shipping import pack_archive;"
        f"packed = ZipFile(pack_archive(Path({str(tmp_path)!r})).path);"
        "print(sorted(name for name in packed.namelist() if 'odd' in name))"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=True)
    info = "odd_offsets-1.0.dist-info"
    assert done.stdout.strip() == str([f"{info}/METADATA", f"{info}/entry_points.txt", "odd_offsets.py"])


def test_the_built_in_checks_come_by_the_same_door():
    assert tuple(checks()) == (*OF_LOGS, *OF_OTHERS)
    assert all(check.help for check in checks().values())


def test_the_panel_of_a_run_says_who_declined_and_why(run):
    evidence = evidence_of(run)
    made = [materialise(evidence.history, worker, "log", evidence.manifest) for worker in evidence.workers]
    context = context_of(evidence, made, load_timeline(evidence.history, evidence.run, evidence.manifest))
    whole = panel(context)
    assert {*(check.name for check in whole.checks), *whole.declined} == set(OF_LOGS)
    assert whole.declined["pop"] == "nobody pops"
    assert all(whole.declined.values())
    some = panel(context, {"no-loss", "pop"})
    assert [check.name for check in some.checks] == ["assumptions", "final-reads", "no-loss"]
    assert (list(some.declined), some.figures, some.partial) == (["pop"], (), True)
    results = local_engine.judge(run)
    assert results.declined.keys() - whole.declined.keys() <= {"replicas"}
