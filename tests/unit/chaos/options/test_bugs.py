"""What a bug declares are defaults of a run: whatever is given wins, and every value says who decided it."""

import json
import secrets
import subprocess
import sys

import pytest

from chaos.basics.rand import run_hash
from chaos.core.errors import UsageError
from chaos.models.log import payload
from chaos.models.log.words import Value
from chaos.options import bugs
from chaos.options.experiment import DEFAULTS
from chaos.options.resolve import experiment_of
from chaos.plugins import names
from checkers.anomalies.catalogue import built_in
from cluster.systems.minimq.bugs.bug_rules import FORGED_AHEAD, forged
from cluster.systems.minimq.bugs.notes import NOTES_MAX, Notes
from cluster.systems.minimq.bugs.switches import _BENDS, BUGS
from cluster.systems.minimq.system import MiniMQ
from cluster.systems.rocketmq.system import RocketMQ
from nemesis.plan.plan import make_plan

UNCLEAN = BUGS["unclean-election"]


def test_what_a_bug_declares_is_taken_and_its_origin_said():
    made = experiment_of({"seed": 7, "bug": "unclean-election"})
    assert (made.workload, made.nemesis) == (UNCLEAN.workload, UNCLEAN.nemesis)
    assert made.settings["bug"] == "unclean-election"
    assert made.settings["broker.minInSyncReplicas"] == "1"
    assert made.time_limit_s == UNCLEAN.options["time_limit_s"]
    for name in ("workload", "nemesis", "time_limit_s", "settings.bug", "settings.broker.minInSyncReplicas"):
        assert made.origins[name] == "--bug unclean-election"
    assert made.origins["seed"] == "option"
    assert made.origins["clients"] == "default"


@pytest.mark.parametrize("name", ["broker.minInSyncReplicas", "minInSyncReplicas"])
def test_what_is_given_wins(name):
    made = experiment_of({"nemesis": "noop", "time_limit_s": 9.0, "pairs": (f"{name}=3",), "bug": "unclean-election"})
    assert (made.nemesis, made.time_limit_s) == ("noop", 9.0)
    assert made.settings["broker.minInSyncReplicas"] == "3"
    assert made.origins["nemesis"] == "option"
    assert made.origins["settings.broker.minInSyncReplicas"] == "--set"


def test_a_system_without_bugs_says_so():
    with pytest.raises(UsageError, match="carries no bugs"):
        bugs.find(RocketMQ(), "forget-vote")


@pytest.mark.parametrize(
    ("bug", "workload", "lacks"),
    [
        ("lost-consumer-offset", "queue", "has no commit, no committed-read"),
        ("duplicate-on-retry", "queue", "has no idempotent send"),
        ("duplicate-on-retry", "register", "has no log, no idempotent send"),
        ("truncate-acked", "set", "has no log"),
    ],
)
def test_a_bug_is_refused_where_it_cannot_show(bug, workload, lacks):
    with pytest.raises(UsageError) as caught:
        experiment_of({"bug": bug, "workload": workload})
    assert f"--bug {bug} and --workload {workload}" in str(caught.value)
    assert lacks in str(caught.value)


@pytest.mark.parametrize("workload", ["queue", "ordered", "group", "idempotent"])
def test_a_bug_is_taken_where_its_own_operations_are_made(workload):
    assert experiment_of({"bug": "truncate-acked", "workload": workload}).workload == workload


def test_every_bug_is_bent_and_declares_what_can_be_run():
    assert list(BUGS) == [bug.name for bug in BUGS.values()]
    assert set(_BENDS) == set(BUGS)
    system = MiniMQ()
    for bug in BUGS.values():
        made = experiment_of({"bug": bug.name})
        assert bug.workload in names("workloads")
        assert set(bug.options) <= {*DEFAULTS, "fault_duration_s", "never_heal", "rto_budget_s"}
        assert set(bug.settings) <= set(made.settings)
        assert bug.anomaly in built_in()
        rows = make_plan(
            made.nemesis,
            system.roles,
            system.topology(made.settings),
            interval_s=made.fault_interval_s,
            duration_s=made.fault_duration_s,
            time_limit_s=made.time_limit_s,
            seed=secrets.randbelow(1000),
            subjects=system.subjects(made.settings, made.keys),
        )
        assert rows


def test_a_forged_message_is_a_value_that_was_never_sent():
    sent = payload.encode(Value(7, 42), 3, run_hash("run"), 128)
    made = forged(sent)
    assert made is not None
    assert len(made) == len(sent)
    assert payload.decode(made, 3, run_hash("run")) == Value(7, 42 + FORGED_AHEAD)
    assert forged(b"somebody else's message, which has another form") is None


def test_a_switched_on_bug_bends_its_process_and_tells_each_deviation_once():
    code = (
        "from cluster.systems.minimq.bugs import switches as bugs\n"
        "from cluster.systems.minimq.replication import broker_rules\n"
        "assert bugs.take_notes() == []\n"
        "bugs.switch_on(bugs.Switch('minisr-ignored'))\n"
        "assert broker_rules.enough_in_sync(('b1',), 2) and broker_rules.enough_in_sync(('b1',), 2)\n"
        "assert broker_rules.enough_in_sync(('b1', 'b2'), 2)\n"
        "print(*bugs.take_notes(), *bugs.take_notes())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"bug": "minisr-ignored", "sync_state_set": ["b1"]}


def test_a_bug_may_deviate_in_a_share_of_its_decisions_drawn_from_its_seed():
    code = (
        "from cluster.systems.minimq.bugs import switches as bugs\n"
        "from cluster.systems.minimq.replication import broker_rules\n"
        "bent = lambda: sum(broker_rules.enough_in_sync(('b1',), 2) for _ in range(2000))\n"
        "print(bent())\n"
        "for seed in ('1 b1', '1 b2', '1 b1'):\n"
        "    bugs.have_on(bugs.Switch('minisr-ignored', 0.1, seed))\n"
        "    print(bent())\n"
        "    bugs.have_on(None)\n"
        "print(bent())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    before, first, second, again, after = map(int, done.stdout.split())
    assert (before, after) == (0, 0)
    assert first == again != second
    assert 140 <= first <= 260
    assert 140 <= second <= 260


def test_notes_are_bounded():
    notes = Notes("offset-gap")
    for number in range(3 * NOTES_MAX):
        notes.note(number=number)
    assert len(notes.take()) == NOTES_MAX
