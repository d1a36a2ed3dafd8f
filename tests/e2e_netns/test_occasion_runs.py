"""Faults that wait for something to happen, on a real minimq."""

from pathlib import Path

import pytest
from judged_run import judged_run

from chaos.core.clock import NS_PER_S
from chaos.core.events import Fault, Note, Observation
from chaos.storage.event_files import read_events

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

STEPS = """\
system: minimq
time-limit: 40
recovery-time: 5
nemesis:
- {at: 4, nemesis: leader-kill@broker, duration: 8}
- {at: 4, nemesis: random-suspend@controller, duration: 3, when: role-change@brokers, within: 15}
- {at: 22, nemesis: leader-restart@broker, duration: 2}
- {at: 22, nemesis: minor-loss@broker, duration: 4, when: "log:master of epoch@broker", within: 12}
"""


def test_faults_begin_when_another_leads_and_when_a_line_is_written(tmp_path):
    config = tmp_path / "chaos.yaml"
    config.write_text(STEPS)
    code, results, said = judged_run(tmp_path / "store", "-d", str(config), "--seed", "1")
    assert code == 0, said
    assert [(fault["proven"], fault["healed"]) for fault in results["faults"]] == [(True, True)] * 4
    folder = Path(tmp_path / "store" / "current").resolve()
    events = [event for path in (folder / "history").glob("*.events") for event in read_events(path)]
    begun = {event.id: event.time_ns for event in events if isinstance(event, Fault) and event.stage == "inject"}
    led = sorted(
        (seen.asked_ns, claim.leader)
        for seen in events
        if isinstance(seen, Observation)
        for claim in seen.led()
        if claim.subject == "brokers"
    )
    first = led[0][1]
    changed_ns = next(time_ns for time_ns, leader in led if leader != first)
    assert begun[1] < changed_ns < begun[2] < changed_ns + 10 * NS_PER_S
    assert begun[3] < begun[4]
    notes = [event.text for event in events if isinstance(event, Note) and "has come" in event.text]
    assert any("role-change@brokers has come" in text for text in notes)
    assert any("log:master of epoch@broker has come" in text and " wrote: " in text for text in notes)
