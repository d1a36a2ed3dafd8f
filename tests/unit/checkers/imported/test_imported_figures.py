"""Figures of imported histories whose figures are known, and what is said where there are none."""

import json

import pytest
from click.testing import CliRunner

from chaos.cli.check import check_command
from chaos.core.op import Type
from chaos.formats.records import Event
from checkers.imported.faults import faults_of

S, MS = 1_000_000_000, 1_000_000
BEGUN, ENDED = 10, 15
"""Between these seconds nothing is acknowledged."""


def line(index, time_ns, process, type_, f, value):
    return f"{{:index {index}, :time {time_ns}, :process {process}, :type :{type_}, :f :{f}, :value {value}}}"


def edn(*events):
    """Events ``(time_ns, process, type, f, value)`` as a file, in order of time."""
    return "\n".join(line(i, *event) for i, event in enumerate(sorted(events, key=lambda one: one[0]))) + "\n"


def cut(f="partition", begun=BEGUN, ended=ENDED):
    """A nemesis that writes each act twice."""
    acts = ((f"start-{f}", begun, (":majority", '{"n1" #{"n2"}}')), (f"stop-{f}", ended, ("nil", "nil")))
    return [
        (at * S - wait, ":nemesis", "info", act, value)
        for act, at, values in acts
        for wait, value in zip((2, 1), values, strict=True)
    ]


def doing(at_ns, process, f, value, took_ns, answer, type_="ok"):
    return [(at_ns, process, "invoke", f, value), (at_ns + took_ns, process, type_, f, answer)]


def sends(seconds=30, every_ms=100):
    """A send every 100 ms to one of two logs, each in 10 ms; they fail from 10 s to 15 s."""
    out, next_ = [], [0, 0]
    for number in range(seconds * 1000 // every_ms):
        at, log = number * every_ms * MS, number % 2
        down = BEGUN * S <= at < ENDED * S
        answer = f"[[:send {log} {number}]]" if down else f"[[:send {log} [{next_[log]} {number}]]]"
        next_[log] += not down
        out += doing(at, log, "send", f"[[:send {log} {number}]]", 10 * MS, answer, "fail" if down else "ok")
    return out


def polled(at_ns, **logs):
    """A poll in 1 ms of messages ``(offset, value)`` by log."""
    said = " ".join(f"{log[1:]} [{' '.join(f'[{o} {v}]' for o, v in got)}]" for log, got in logs.items())
    return doing(at_ns, 7, "poll", "[[:poll]]", MS, f"[[:poll {{{said}}}]]")


@pytest.fixture
def told(tmp_path):
    """The figures of a text as JSON has them, and what people are told."""

    def run(text, **options):
        path = tmp_path / "history"
        path.write_text(text)
        argv = [str(path), "--engine=local", *(f"--{name}={value}" for name, value in options.items())]
        said = CliRunner().invoke(check_command, argv, standalone_mode=False).stdout
        done = CliRunner().invoke(check_command, [*argv, "--json"], standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return json.loads(done.stdout)["figures"], said

    return run


def kafka(told, *more, faults=True):
    return told(edn(*sends(), *(cut() if faults else ()), *more), format="jepsen", model="kafka")


def test_availability_of_a_kafka_history_is_told_over_all_and_by_log(told):
    found, said = kafka(told)
    assert [(one["key"], one["share"], one["seconds"]) for one in found["availability"]] == [
        (-1, 0.833333, 30),
        (0, 0.833333, 30),
        (1, 0.833333, 30),
    ]
    assert [one["silence_s"] for one in found["availability"]] == [5.01, 5.01, 5.01]
    assert "available 83.3 % of 30 seconds" in said


def test_kinds_are_counted_and_timed(told):
    found, said = kafka(told)
    (kind,) = found["kinds"]
    assert (kind["f"], kind["ok"], kind["fail"], kind["info"]) == ("send", 250, 50, 0)
    assert (kind["p50_ms"], kind["max_ms"]) == (10.0, 10.0)
    assert kind["ok_per_s"] == pytest.approx(250 / 29.91, rel=1e-3)
    assert "send       250      50        0   8.4" in said


def test_recovery_from_a_fault_of_jepsens_nemesis(told):
    found, said = kafka(told)
    (fault,) = found["faults"]
    assert (fault["name"], fault["inject_ns"], fault["heal_ns"]) == ("partition", BEGUN * S - 2, ENDED * S - 2)
    over_all = fault["rto"][0]
    assert (over_all["f"], over_all["key"], over_all["seconds"]) == ("send", -1, 5.01)
    assert (over_all["recovered"], over_all["when"]) == (True, "after-heal")
    assert over_all["resolution_s"] == pytest.approx(2 * 29.91 / 300)
    assert fault["not_ok"] == 50
    assert fault["steady"] == {"reached": True, "seconds": 0.0}
    assert "proven" not in fault, "nobody has proven it"
    assert "RTO of send: 5.0 s (fault 1)" in said


def test_a_loss_belongs_to_the_last_fault_before_the_poll_that_proves_it(told):
    early = polled(BEGUN * S - S, l0=[(0, 0)], l1=[(0, 1)])
    late = polled(20 * S, l0=[(0, 0), (2, 4)])
    found, said = kafka(told, *early, *late)
    polls = [one for one in found["faults"][0]["rto"] if one["f"] == "poll"]
    assert [one["key"] for one in polls] == [-1]
    assert polls[0]["resolution_s"] == pytest.approx(29.91 / 2)
    assert found["faults"][0]["lost"] == 1
    assert found["rpo"] == "fault 1 (partition): 1 lost"
    assert "RPO: fault 1 (partition): 1 lost" in said
    found, said = kafka(told, *polled(5 * S, l0=[(0, 0), (2, 4)]), *polled(20 * S, l0=[(0, 0), (3, 6)]))
    assert found["faults"][0]["lost"] == 0
    assert found["rpo"] == "no fault: 1 lost", "the first poll had shown it"


def test_a_message_takes_from_its_send_to_the_first_poll_that_gives_it(told):
    found, said = kafka(told, *polled(2 * S, l0=[(0, 0)], l1=[(0, 1)]), *polled(3 * S, l0=[(0, 0), (1, 2)]))
    healthy = found["latency"][0]
    assert (healthy["fault"], healthy["messages"], healthy["unread"]) == (None, 3, 247)
    assert healthy["max_ms"] == 2801.0
    assert "end to end" in said


def test_without_faults_there_is_no_recovery_to_tell_of(told):
    found, said = kafka(told, faults=False)
    assert found["faults"] == []
    assert found["absent"] == dict.fromkeys(("rto", "rpo", "steady"), "the history tells of no faults")
    assert "not told: RTO, RPO and steady throughput (the history tells of no faults)" in said


def test_a_total_queue(told):
    puts = [one for n in range(20) for one in doing(n * S, 0, "enqueue", n, 5 * MS, n)]
    gets = [one for n in range(19) for one in doing(n * S + 500 * MS, 1, "dequeue", "nil", 20 * MS, n)]
    found, said = told(edn(*puts, *gets, *cut("kill")), format="jepsen", model="total-queue")
    assert found["latency"][1] == {
        "fault": 1,
        "messages": 5,
        "unread": 0,
        "p50_ms": 520.0,
        "p90_ms": 520.0,
        "p99_ms": 520.0,
        "max_ms": 520.0,
    }
    assert found["faults"][0]["lost"] == 1
    assert "rto of dequeue" in found["absent"]
    assert [one["f"] for one in found["faults"][0]["rto"]] == ["enqueue"]
    assert "not told: rto of dequeue" in said


def test_a_register_has_no_consumers_and_loses_nothing_that_could_be_told(told):
    text = edn(*doing(0, 0, "write", 1, MS, 1), *doing(S, 0, "read", "nil", MS, 1), *cut())
    found, _ = told(text, format="jepsen", model="register")
    assert "latency" not in found
    assert "lost" not in found["faults"][0]
    assert found["absent"] == {
        "rpo": "register tells of no lost messages",
        "latency": "the model has no consumers",
    }
    assert [one["f"] for one in found["kinds"]] == ["write", "read"]
    assert found["availability"][0]["share"] == 1.0


def test_a_mutex_is_not_available_or_unavailable(told):
    text = edn(*doing(0, 0, "acquire", "nil", MS, "nil"), *doing(S, 0, "release", "nil", MS, "nil"))
    found, _ = told(text, format="jepsen", model="mutex")
    assert "availability" not in found
    assert found["absent"]["availability"] == "no operation tells by failing that it was not served"


OPENCHAOS = "".join(
    f"0\tenqueue\tREQUEST\tv{n}\tnull\t{1000 * n}\tnull\n"
    + ("fault\tminor-kill\tstart\t5000\n" if n == 5 else "fault\tminor-kill\tend\t8000\n" if n == 8 else "")
    + f"0\tenqueue\tRESPONSE\t{'UNKNOWN' if 5 <= n < 8 else 'SUCCESS'}\tv{n}\tnull\t{1000 * n + 10}\t10\tnull\t0\n"
    + (f"1\tdequeue\tRESPONSE\tSUCCESS\tv{n}\tnull\t{1000 * n + 40}\t0\tnull\t30\n" if not 5 <= n < 8 else "")
    for n in range(12)
)


def test_openchaos_tells_of_faults_and_of_pushed_messages(told):
    found, _ = told(OPENCHAOS, format="openchaos")
    (fault,) = found["faults"]
    assert (fault["name"], fault["inject_ns"], fault["heal_ns"]) == ("minor-kill", 5 * S, 8 * S)
    assert fault["rto"][0]["seconds"] == 3.01
    assert found["latency"][0]["p50_ms"] == 40.0
    kinds = {one["f"]: one for one in found["kinds"]}
    assert {f: (one["ok"], one["info"]) for f, one in kinds.items()} == {"enqueue": (9, 3), "dequeue": (9, 0)}
    assert kinds["dequeue"]["p50_ms"] is None, "nobody asked for what was pushed"


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        (
            "0 :invoke :write 1\n0 :ok :write 1\n",
            {"format": "porcupine", "model": "register"},
            "the history has no times",
        ),
        (
            '{"f": "append", "value": 7, "offset": 0, "type": "ok", "invoke": 1, "complete": 2}\n',
            {"format": "jsonl"},
            "the history has no times",
        ),
        (
            edn(*doing(0, 0, "write", 1, MS, 1), *doing(S, 0, "write", 1, MS, 1)).replace(":time 0, ", ""),
            {"format": "jepsen", "model": "register"},
            "1 of 2 operations have no time",
        ),
        ("", {"format": "jepsen", "model": "register"}, "there are no operations"),
    ],
)
def test_without_times_nothing_is_told_but_counts(told, text, options, why):
    found, said = told(text, **options)
    assert set(found) == {"kinds", "faults", "absent"} - ({"faults"} if "faults" in found["absent"] else set())
    assert found["absent"]["availability"] == why
    assert f"({why})" in said.replace("\n", " ")


def act(f, at, value=None, process="nemesis"):
    return Event(None, at, Type.INFO, process, f, value, {}, 1)


@pytest.mark.parametrize(
    ("acts", "spans"),
    [
        (["start", "start", "stop", "stop"], [("start", 0, 1, 2, 3)]),
        (["start", "stop", "start"], [("start", 0, None, 1, None), ("start", 2, None, None, None)]),
        (["kill", "kill", "start", "start"], [("kill", 0, 1, 2, 3)]),
        (
            ["pause", "pause", "kill", "kill", "resume", "resume", "start", "start"],
            [("pause", 0, 1, 4, 5), ("kill", 2, 3, 6, 7)],
        ),
        (["kill", "kill", "kill", "kill", "start", "start"], [("kill", 0, 1, 4, 5), ("kill", 2, 3, 4, 5)]),
        (["start-partition", "start-partition", "heal", "heal"], [("partition", 0, 1, 2, 3)]),
        (["stop", "stop"], []),
    ],
)
def test_acts_of_a_nemesis_begin_and_end_faults(acts, spans):
    found = faults_of([act(f, at) for at, f in enumerate(acts)])
    assert [(one.name, one.inject_ns, one.active_ns, one.heal_ns, one.healed_ns) for one in found.spans] == spans


def test_acts_of_which_nobody_knows_what_they_do_are_named():
    assert faults_of([act("check-clock-offsets", 0), act("melt", 1), act("melt", 2)]).unknown == (
        "check-clock-offsets",
        "melt",
    )
