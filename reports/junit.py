"""``junit.xml`` of a run: a test case a check, for tools that show the results of tests.

Invalid is a failure, unknown is an error, a check that had nothing to judge is skipped. The module refuses to judge.
"""

import re
from typing import Final
from xml.etree import ElementTree as ET

from chaos.core.verdict import UNKNOWN, CheckResult
from reports.folder import Parts

_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    """Text without what XML cannot hold."""
    return _NOT_XML.sub("?", text)


def as_text(suite: ET.Element) -> str:
    """A suite as the text of a file."""
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


class JUnitReporter:
    """JUnit's XML of one run."""

    name = "junit"
    help = "JUnit's XML: a test case a check"
    file = "junit.xml"

    def render(self, parts: Parts) -> str:
        """A suite with the run's checks; one case that is an error if it was never judged."""
        run, results = parts.run, parts.results
        checks = results.checks if results is not None else ()
        declined = results.declined if results is not None else {}
        broke = results is None
        suite = ET.Element(
            "testsuite",
            {
                "name": f"{run.system}.{run.workload}.{run.nemesis}",
                "tests": str(len(checks) + len(declined) + broke),
                "failures": str(sum(check.valid is False for check in checks)),
                "errors": str(sum(check.valid == UNKNOWN for check in checks) + broke),
                "skipped": str(len(declined)),
                "time": f"{sum(run.timings_s.values()):.3f}",
                "timestamp": run.origin_utc,
            },
        )
        if results is None:
            case = ET.SubElement(suite, "testcase", {"classname": run.id, "name": "run"})
            ET.SubElement(case, "error", {"type": "broke", "message": printable(run.error or "it was never judged")})
        for check in checks:
            self._case(suite, run.id, check, results.sentence if results is not None else "")
        for name, why in declined.items():
            case = ET.SubElement(suite, "testcase", {"classname": run.id, "name": name})
            ET.SubElement(case, "skipped", {"message": printable(why)})
        return as_text(suite)

    def _case(self, suite: ET.Element, run_id: str, check: CheckResult, sentence: str) -> None:
        about = {"classname": run_id, "name": check.name, "time": f"{check.took_s:.3f}"}
        case = ET.SubElement(suite, "testcase", about)
        if check.valid is False:
            names = ", ".join(name for name, one in check.anomalies.items() if not one.allowed) or "invalid"
            told = [one.examples[0].sentence for one in check.anomalies.values() if not one.allowed and one.examples]
            failure = ET.SubElement(case, "failure", {"type": printable(names), "message": printable(check.found)})
            failure.text = printable("\n".join([sentence, *told]))
        elif check.valid == UNKNOWN:
            ET.SubElement(case, "error", {"type": UNKNOWN, "message": printable(check.reason)})
