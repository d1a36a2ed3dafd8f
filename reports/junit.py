"""JUnit's XML, for tools that show the results of tests: of a run, of checked histories, of a matrix.

A broken threshold or an invalid check is a failure, unknown is an error, a check that had nothing to judge is skipped.
What is allowed, or not in ``fail-on``, passes and is told in the case's output. Does not judge.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple
from xml.etree import ElementTree as ET

from chaos.core.gate import GateResult, ThresholdResult
from chaos.core.verdict import UNKNOWN, CheckResult, Results
from reports.folder import Parts

_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Outcome = Literal["", "failure", "error", "skipped"]


class Case(NamedTuple):
    """One test case. ``kind`` and ``message``: why it did not pass; ``text``: more of that; ``note``: its output."""

    group: str
    name: str
    outcome: Outcome = ""
    kind: str = ""
    message: str = ""
    text: str = ""
    note: str = ""
    took_s: float | None = None


def suite(name: str, cases: Sequence[Case], took_s: float, timestamp: str = "") -> ET.Element:
    """A suite of these cases."""
    counts = {
        "tests": len(cases),
        "failures": sum(case.outcome == "failure" for case in cases),
        "errors": sum(case.outcome == "error" for case in cases),
        "skipped": sum(case.outcome == "skipped" for case in cases),
    }
    about = {"name": printable(name), **{what: str(number) for what, number in counts.items()}, "time": f"{took_s:.3f}"}
    made = ET.Element("testsuite", {**about, **({"timestamp": timestamp} if timestamp else {})})
    for case in cases:
        _add(made, case)
    return made


def _add(parent: ET.Element, case: Case) -> None:
    time = {} if case.took_s is None else {"time": f"{case.took_s:.3f}"}
    made = ET.SubElement(parent, "testcase", {"classname": printable(case.group), "name": printable(case.name), **time})
    if case.outcome:
        kind = {"type": printable(case.kind)} if case.kind else {}
        inner = ET.SubElement(made, case.outcome, {**kind, "message": printable(case.message)})
        inner.text = printable(case.text) or None
    if case.note:
        ET.SubElement(made, "system-out").text = printable(case.note)


def suites(parts: Iterable[ET.Element]) -> str:
    """Several suites as the text of a file."""
    made = ET.Element("testsuites")
    made.extend(parts)
    return as_text(made)


def printable(text: str) -> str:
    """Text without what XML cannot hold."""
    return _NOT_XML.sub("?", text)


def as_text(element: ET.Element) -> str:
    """A suite as the text of a file."""
    ET.indent(element)
    return ET.tostring(element, encoding="unicode", xml_declaration=True) + "\n"


def cases_of(group: str, results: Results) -> list[Case]:
    """The cases of a verdict: thresholds, then checks, then those that had nothing to judge."""
    out = threshold_cases(group, "", results.thresholds, results.gate)
    out += [_check(group, check, results) for check in results.checks]
    out += [Case(group, name, "skipped", message=why) for name, why in results.declined.items()]
    if results.valid is not True and not any(case.outcome in ("failure", "error") or case.note for case in out):
        outcome: Outcome = "error" if results.valid == UNKNOWN else "failure"
        out.append(Case(group, "verdict", outcome, str(results.valid), results.reason or results.sentence))
    return out


def threshold_cases(
    group: str, before: str, rows: Iterable[ThresholdResult], gate: GateResult | None = None
) -> list[Case]:
    """A case a threshold; ``before``: what its name begins with."""
    out = []
    for row in rows:
        name = f"{before}threshold {row.text}"
        if row.state == "unknown":
            out.append(Case(group, name, "error", UNKNOWN, row.reason))
        elif row.state == "broken" and fails(row.text, gate):
            out.append(Case(group, name, "failure", "threshold", row.sentence))
        else:
            out.append(Case(group, name, note=f"{row.state}: {row.sentence}"))
    return out


def fails(finding: str, gate: GateResult | None) -> bool:
    """Whether a finding makes the exit code that of a failure."""
    return gate is None or finding in gate.failed_by


def _check(group: str, check: CheckResult, results: Results) -> Case:
    if check.valid == UNKNOWN:
        return Case(group, check.name, "error", UNKNOWN, check.reason, took_s=check.took_s)
    if check.valid is True:
        return Case(group, check.name, took_s=check.took_s)
    own = {name: one for name, one in check.anomalies.items() if not one.allowed}
    findings = list(own) or [check.name]
    told = [one.examples[0].sentence for one in own.values() if one.examples]
    text = "\n".join([results.sentence, *told])
    if not any(fails(name, results.gate) for name in findings):
        return Case(group, check.name, took_s=check.took_s, note=f"{', '.join(findings)}: {check.found}\n{text}")
    kind = ", ".join(own) or "invalid"
    return Case(group, check.name, "failure", kind, check.found, text, took_s=check.took_s)


class JUnitReporter:
    """JUnit's XML of one run."""

    name = "junit"
    help = "JUnit's XML: a test case a threshold and a check"
    file = "junit.xml"

    def render(self, parts: Parts) -> str:
        """A suite with the run's thresholds and checks; one case that is an error if it was never judged."""
        return as_text(self.suite(parts))

    def suite(self, parts: Parts) -> ET.Element:
        """The same as an element."""
        run, results = parts.run, parts.results
        if results is None:
            cases = [Case(run.id, "run", "error", "broke", run.error or "it was never judged")]
        else:
            cases = cases_of(run.id, results)
        name = f"{run.system}.{run.workload}.{run.nemesis}"
        return suite(name, cases, sum(run.timings_s.values()), run.origin_utc)
