"""What a test offers is found by name while it lasts, by everything that looks names up, and forgotten afterwards."""

import pytest

from chaos import plugins
from chaos.core.anomaly_kind import AnomalyKind
from chaos.core.errors import UsageError
from chaos.testing import offered, run
from chaos.workload.objects.set import SetWorkload
from checkers.anomalies.catalogue import kinds
from checkers.anomalies.findings import Finding, Findings, conclude_findings, merge_findings
from checkers.engine.installed_checks import checks
from checkers.history.check import OfEachKey
from nemesis.faults.processes.suspend import Suspend
from nemesis.faults.registry import faults
from nemesis.plan.nemesis_names import catalog
from reports.junit import JUnitReporter
from reports.reporter import reporters

pytestmark = pytest.mark.broad


class NothingCheck(OfEachKey):
    """Finds fault with everything."""

    name = "nothing"
    help = "no operation at all"
    anomalies = (
        AnomalyKind(
            name="something", one="operation", many="operations", meaning="an operation",
            expected="there is none", strength=10, rule="",
        ),
    )  # fmt: skip

    def examine(self, shard, context):
        count = len(shard.operations["f"])
        return Findings(examined=count, found={"something": Finding(count=count, examples=())} if count else {})

    def merge(self, left, right):
        return merge_findings(left, right)

    def conclude(self, summary, context):
        return conclude_findings(self.name, summary, context, noun="operation", clean="nothing happened")


class Elements(SetWorkload):
    """Sets, judged by a check of this module."""

    name = "elements"
    checks = (*SetWorkload.checks, "nothing")


class Freeze(Suspend):
    """The same by another name."""

    name = "freeze"
    verb = "frozen"


class Lines(JUnitReporter):
    """The verdict in a line."""

    name = "lines"
    help = "a line"
    file = "lines.txt"

    def render(self, parts):
        return parts.results.sentence


OURS = {"workloads": (Elements,), "checks": (NothingCheck,), "faults": (Freeze,), "reporters": (Lines,)}


def known():
    return {
        "workload": "elements" in plugins.names("workloads"),
        "check": "nothing" in checks(),
        "anomaly": "something" in kinds(),
        "fault": "freeze" in faults(),
        "nemesis": "random-freeze" in catalog(),
        "reporter": "lines" in reporters(),
    }


def test_all_of_it_is_used_by_a_run_and_gone_afterwards(tmp_path):
    assert not any(known().values())
    with offered(**OURS):
        assert all(known().values())
        done = run(tmp_path, workload="elements", nemesis="random-freeze", reports=("html", "lines"))
    assert not any(known().values())
    row = done.check("nothing")
    assert (row.valid, row.anomalies["something"].count) == (False, done.results.counts["operations"])
    assert done.results.faults[0].proven
    assert (done.folder / "lines.txt").read_text() == done.results.sentence


def test_a_name_that_is_taken_is_refused():
    class Other(SetWorkload):
        """Another one."""

    with offered(workloads=(Other,)), pytest.raises(UsageError, match="the name 'set' is claimed by"):
        plugins.load("workloads", "set")
    assert plugins.load("workloads", "set") is SetWorkload
