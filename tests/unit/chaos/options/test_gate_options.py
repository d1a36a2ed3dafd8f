"""Thresholds, fail-on and allowed findings as options: from a file, typed, and written down to be read again."""

from pathlib import Path
from typing import Any

import pytest

from chaos.core.gate import FAIL_ON, Allowed
from chaos.options.experiment import Experiment, as_yaml
from chaos.options.resolve import experiment_of

FILE = """\
system: minimq
thresholds:
- lost == 0
- availability>=99.9%
- rto<=20s
fail-on: [anomalies, unknown, anomalies]
allow:
- {anomaly: stale-tail, system: minimq, reason: "no leases: our issue 12", until: 2030-01-31}
- {anomaly: rto-budget, system: minimq, reason: slow}
"""


def asked(tmp_path: Path, text: str = FILE, **typed: Any) -> Experiment:
    file = tmp_path / "chaos.yaml"
    file.write_text(text)
    return experiment_of({"driver": str(file), **typed})


def test_a_file_says_what_is_wanted(tmp_path: Path) -> None:
    made = asked(tmp_path)
    assert made.thresholds == ("lost==0", "availability>=99.9%", "rto<=20s")
    assert made.fail_on == ("anomalies", "unknown")
    assert made.allow == (
        Allowed(anomaly="stale-tail", system="minimq", reason="no leases: our issue 12", until="2030-01-31"),
        Allowed(anomaly="rto-budget", system="minimq", reason="slow"),
    )
    assert (made.rto_budget_s, made.origins["rto_budget_s"]) == (20, "--threshold")


def test_without_a_wish_it_is_as_ever() -> None:
    made = experiment_of({})
    assert (made.thresholds, made.fail_on, made.allow, made.rto_budget_s) == ((), FAIL_ON, (), None)


def test_what_is_written_down_is_read_as_the_same(tmp_path: Path) -> None:
    made = asked(tmp_path)
    again = asked(tmp_path, as_yaml(made))
    for field in ("thresholds", "fail_on", "allow", "rto_budget_s"):
        assert getattr(again, field) == getattr(made, field)


@pytest.mark.parametrize(
    ("typed", "thresholds", "budget_s"),
    [
        ({"thresholds": ("lost<=1",)}, ("lost<=1",), None),
        ({"thresholds": ("rto<=5s",)}, ("rto<=5s",), 5),
        ({"thresholds": ("rto<=9s", "rto<=5s")}, ("rto<=9s", "rto<=5s"), 5),
        ({"thresholds": ("rto(leader-kill)<=5s",)}, ("rto(leader-kill)<=5s",), None),
        ({"rto_budget_s": 30.0}, ("lost==0", "availability>=99.9%", "rto<=30s"), 30),
        ({"rto_budget_s": 3.0}, ("lost==0", "availability>=99.9%", "rto<=3s"), 3),
        ({"rto_budget_s": 3.0, "thresholds": ("rto<=1s",)}, ("rto<=1s",), 1),
        ({"rto_budget_s": 1.0, "thresholds": ("rto<=3s",)}, ("rto<=3s", "rto<=1s"), 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("stored", [False, True])
def test_what_is_typed_wins_and_a_budget_is_a_threshold(
    typed: dict[str, Any], thresholds: tuple[str, ...], budget_s: float | None, stored: bool, tmp_path: Path
) -> None:
    text = as_yaml(asked(tmp_path)) if stored else FILE
    made = asked(tmp_path, text, **typed)
    assert (made.thresholds, made.rto_budget_s) == (thresholds, budget_s)
