"""What is seen of a run, and what a guided hunt makes of it."""

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.events import Claim, Observation
from chaos.core.fault_nature import Identity, Nature
from chaos.core.verdict import ErrorResult, Failover, FaultResult, Results
from chaos.hunt.corpus import Corpus, Record
from chaos.hunt.features import (
    BROKEN,
    bucket,
    faults_around,
    features_of,
    normalise,
    of_invariants,
    of_logs,
    of_observations,
    of_results,
)
from chaos.hunt.guide import Guide
from chaos.hunt.setting import setting_of, topology_of
from nemesis.targets.selectors import Selector

S = NS_PER_S


def fault(number, kind, inject_s, healed_s):
    nature = Nature(verb="", hits="nodes", cuts=False, silences=False, restarts=False, colour="grey")
    return FaultResult(
        id=number,
        name=f"any-{kind}",
        targets=(),
        description="",
        proven=True,
        healed=True,
        skipped=False,
        inject_ns=inject_s * S,
        active_ns=None,
        heal_ns=None,
        healed_ns=None if healed_s is None else healed_s * S,
        identity=Identity(kind=kind, selector=Selector.RANDOM, roles=(), params={}, nature=nature),
    )


FAULTS = (fault(1, "kill", 10, 20), fault(2, "loss", 15, None))


def test_numbers_fall_into_buckets_that_double():
    assert [bucket(number) for number in (-1, 0, 1, 2, 3, 4, 7, 8, 1000)] == [0, 0, 1, 2, 2, 4, 4, 8, 512]


def test_faults_are_in_force_from_injection_to_healing_and_a_moment_longer():
    told = {at_s: faults_around(FAULTS, at_s * S) for at_s in (9, 10, 15, 20, 21, 24)}
    assert told == {
        9: "healthy",
        10: "kill",
        15: "kill+loss",
        20: "kill+loss",
        21: "after-kill+loss",
        24: "loss",
    }


def test_changes_of_leaders_and_errors_are_told_with_what_was_in_force():
    changes = [Failover(node="b1", epoch=n, at_ns=at_s * S, subject="group") for n, at_s in enumerate((12, 16, 17))]
    error = ErrorResult(error="timeout after 312 ms", type="info", node="b1", fault=2, count=9, first_ns=0, last_ns=0)
    results = Results(
        valid=True,
        sentence="",
        reason="",
        model="",
        engine="",
        faults=FAULTS,
        failovers=tuple(changes),
        errors=(error, msgspec.structs.replace(error, fault=None)),
    )
    assert set(of_results(results)) == {
        "change group kill",
        "change group kill+loss",
        "changes group 2",
        "error info timeout after # ms loss",
        "error info timeout after # ms healthy",
    }


def seen(node, at_s, leader, offsets=None, members=None):
    claim = Claim(subject="group", leader=leader, epoch=5, members=members)
    return Observation(time_ns=at_s * S, asked_ns=at_s * S, node=node, alive=True, claims=(claim,), max_offsets=offsets)


def test_two_leaders_sets_in_sync_and_distances_are_seen():
    found = list(
        of_observations(
            [
                seen("b1", 1, "b1", {"0": 100, "1": 7}, ("b1", "b2")),
                seen("b2", 11, "b2", {"0": 40}),
                seen("b1", 12, "b2"),
                seen("b2", 22, "b2"),
            ],
            FAULTS,
        )
    )
    assert set(found) == {
        "epoch group 4",
        "members group 2 healthy",
        "leaders group 2 kill",
        "apart 0 healthy",
        "apart 32 kill",
    }


def test_lines_of_logs_are_told_apart_by_their_words_alone(tmp_path):
    assert normalise("12:01 [0xAF31] sync b1  in 15 ms\n") == "#:# [#] sync b# in # ms"
    for node, text in (("b1", "sync 1 of 2\nlost 3\n"), ("b2", "sync 8 of 9\n")):
        (tmp_path / node).mkdir()
        (tmp_path / node / "node.log").write_text(text)
    assert len(set(of_logs(tmp_path))) == 2


def test_a_folder_that_was_not_judged_shows_nothing(tmp_path):
    assert features_of(tmp_path) == ()
    (tmp_path / "results.json").write_text("{}")
    assert features_of(tmp_path) == ()


def test_what_is_new_is_kept_and_changed_and_found_again_by_a_later_hunt(tmp_path):
    setting = setting_of({"system": "minimq", "backend": "sim", "workloads": ("queue",)})
    drawn = lambda number: setting.drawn(5, number)  # noqa: E731

    def guide():
        return Guide(Corpus(tmp_path / "corpus", {"seed": 5}), drawn, topology_of, 5)

    first = guide()
    assert [first.next(number) for number in range(3)] == [drawn(number) for number in range(3)]
    base, candidate = drawn(0)
    assert first.learn(0, base, candidate, ("a", "b")) == ("a", "b")
    assert first.learn(1, *drawn(1), ("a",)) == ()
    assert first.learn(1, *drawn(1), ("a", "c")) == ("c",)
    made = [first.next(number)[1] for number in range(2, 14)]
    changed = [one for number, one in enumerate(made, 2) if one != drawn(number)[1]]
    assert 3 <= len(changed) <= 11
    second = guide()
    assert [second.next(number)[1] for number in range(2, 14)] == made


def test_plans_that_broke_an_invariant_are_changed_most_often_also_by_a_later_hunt(tmp_path):
    setting = setting_of({"system": "minimq", "backend": "sim", "workloads": ("queue", "group")})
    drawn = lambda number: setting.drawn(5, number)  # noqa: E731
    corpus = Corpus(tmp_path / "corpus", {"seed": 5})
    guide = Guide(corpus, drawn, topology_of, 5)
    for number in range(8):
        features = (f"word {number}", *of_invariants(["c1 and c2 lead term 3"] if number == 3 else []))
        guide.learn(number, *drawn(number), features)
        broken = ("c1 and c2 lead term 3",) if number == 3 else ()
        corpus.add(
            Record(number=number, seed=0, workload="queue", faults=(), verdict="PASS", took_s=1.0, broken=broken)
        )
    near = {row.fault for row in drawn(3)[1].rows}
    others = {row.fault for number in range(8) for row in drawn(number)[1].rows if number != 3} - near

    def nears(made):
        return sum(not {row.fault for row in candidate.rows}.isdisjoint(near) for _, candidate in made)

    made = [guide.next(number) for number in range(8, 60)]
    changed = [one for number, one in enumerate(made, 8) if one[1] != drawn(number)[1]]
    assert others
    assert nears(changed) > 0.6 * len(changed)
    assert {base.workload for base, _ in changed} == {"queue", "group"}
    later = Guide(Corpus(tmp_path / "corpus", {"seed": 5}), drawn, topology_of, 5)
    assert [later.next(number)[1] for number in range(8, 60)] == [candidate for _, candidate in made]


def test_a_broken_invariant_is_a_feature_without_its_numbers():
    assert list(of_invariants(["c1 and c2 lead term 3"])) == list(of_invariants(["c3 and c1 lead term 12"]))
    assert all(feature.startswith(BROKEN) for feature in of_invariants(["c1 and c2 lead term 3"]))
