"""What fails a build: fail-on, and findings that are allowed by name and system until a day."""

from datetime import date
from typing import Any

import msgspec
import pytest
import synthetic

from chaos.core.gate import Allowed, Gates
from chaos.core.verdict import Anomaly, CheckResult, Results, exit_code
from chaos.gate.judge import with_gate

RUN = msgspec.structs.replace(synthetic.run_info("valid"), system="minimq", rto_budget_s=None)
TODAY = date(2026, 11, 23)
STALE = {"stale-tail": Anomaly(count=2, allowed=False)}
LOST = {"lost-write": Anomaly(count=1, allowed=False)}


def known(name: str = "stale-tail", system: str = "minimq", until: str | None = None) -> Allowed:
    return Allowed(anomaly=name, system=system, reason="no leases yet", until=until)


def run(gates: Gates, *, unknown: bool = False, **changes: Any) -> Results:
    anomalies = changes.pop("anomalies", {})
    rows = [CheckResult(name="no-loss", valid=not anomalies, found="", anomalies=anomalies)]
    rows += [CheckResult(name="order", valid="unknown", found="", reason="cut off")] if unknown else []
    valid = False if anomalies else "unknown" if unknown else True
    made = Results(
        valid=valid, sentence="So it was.", reason="", model="queue", engine="local", checks=tuple(rows), **changes
    )
    return with_gate(msgspec.structs.replace(made, anomalies=anomalies), RUN, gates, TODAY)


@pytest.mark.parametrize(
    ("fail_on", "changes", "code"),
    [
        (("anomalies", "thresholds"), {"anomalies": LOST}, 1),
        (("anomalies", "thresholds"), {"unknown": True}, 2),
        (("anomalies", "thresholds"), {}, 0),
        (("thresholds",), {"anomalies": LOST}, 0),
        (("lost-write",), {"anomalies": LOST}, 1),
        (("lost-write",), {"anomalies": STALE}, 0),
        (("lost-write",), {"anomalies": STALE | LOST}, 1),
        (("lost-write",), {"anomalies": STALE, "unknown": True}, 2),
        (("lost-write", "unknown"), {"anomalies": STALE, "unknown": True}, 1),
        (("unknown",), {"unknown": True}, 1),
        (("unknown",), {}, 0),
    ],
)
def test_fail_on_says_what_fails(fail_on: tuple[str, ...], changes: dict[str, Any], code: int) -> None:
    assert exit_code(run(Gates(fail_on=fail_on), **changes).answer) == code


@pytest.mark.parametrize(
    ("fail_on", "code"), [(("anomalies", "thresholds"), 1), (("thresholds",), 1), (("anomalies",), 0), ((), 0)]
)
def test_a_broken_threshold_fails_if_thresholds_do(fail_on: tuple[str, ...], code: int) -> None:
    found = run(Gates(thresholds=("lost<=0", "lost>=1"), fail_on=fail_on))
    assert found.valid is False
    assert exit_code(found.answer) == code


def test_without_a_wish_nothing_is_added() -> None:
    found = run(Gates(), anomalies=LOST)
    assert (found.gate, found.answer, found.sentence) == (None, False, "So it was.")


def test_an_allowed_finding_does_not_fail_and_is_told() -> None:
    found = run(Gates(allow=(known(until="2026-11-23"),)), anomalies=STALE)
    assert (found.valid, exit_code(found.answer)) == (False, 0)
    assert found.sentence == "So it was. Allowed: stale-tail of minimq until 2026-11-23 (no leases yet)."


@pytest.mark.parametrize(
    ("allowed", "anomalies"),
    [
        (known(system="rocketmq"), STALE),
        (known(name="lost-write"), STALE),
        (known(until="2026-11-22"), STALE),
        (known(), STALE | LOST),
    ],
    ids=["another system", "another name", "over", "something new beside"],
)
def test_whatever_is_not_allowed_fails(allowed: Allowed, anomalies: dict[str, Anomaly]) -> None:
    assert exit_code(run(Gates(allow=(allowed,)), anomalies=anomalies).answer) == 1


def test_an_allowance_that_is_over_is_told() -> None:
    found = run(Gates(allow=(known(until="2026-11-22"),)), anomalies=STALE)
    assert found.sentence.endswith(" No longer allowed: stale-tail of minimq until 2026-11-22 (no leases yet).")


def test_what_has_the_same_cause_is_covered() -> None:
    part = {"inconsistent-offsets": Anomaly(count=4, allowed=False, part_of="lost-write")}
    assert exit_code(run(Gates(allow=(known("lost-write"),)), anomalies=LOST | part).answer) == 0
    assert exit_code(run(Gates(allow=(known("inconsistent-offsets"),)), anomalies=LOST | part).answer) == 1


def test_an_allowed_finding_hides_no_unknown() -> None:
    assert exit_code(run(Gates(allow=(known(),)), anomalies=STALE, unknown=True).answer) == 2


def test_an_allowed_budget_covers_the_threshold_that_is_the_same() -> None:
    fault = synthetic.results("valid").faults[0]
    slow = msgspec.structs.replace(fault, rto=(msgspec.structs.replace(fault.rto[0], seconds=9.0, key=-1),))
    gates = Gates(thresholds=("rto<=1s",), allow=(known("rto-budget"),))
    found = {"rto-budget": Anomaly(count=1, allowed=False)}
    assert exit_code(run(gates, anomalies=found, faults=(slow,)).answer) == 0
    gates = Gates(thresholds=("rto<=1s", "rto(leader-partition)<=1s"), allow=(known("rto-budget"),))
    assert exit_code(run(gates, anomalies=found, faults=(slow,)).answer) == 1


def test_a_check_that_fails_without_a_name_is_a_finding() -> None:
    made = Results(
        valid=False,
        sentence="",
        reason="",
        model="queue",
        engine="local",
        checks=(CheckResult(name="odd", valid=False, found=""),),
    )
    found = with_gate(made, RUN, Gates(allow=(known("stale-tail"),), fail_on=("anomalies",)), TODAY)
    assert found.gate is not None
    assert found.gate.failed_by == ("odd",)
