"""How a client commits for its group, and asks where the group goes on."""

import pytest
from kafka_broker import (
    COMMIT,
    COMMITTED,
    COORDINATOR,
    HEARTBEAT,
    JOIN,
    SYNC,
    committed,
    committed_offset,
    coordinator,
    heard,
    joined,
    synced,
)
from kafka_client_run import VIEW, op, run

from chaos.core.client import Definite, Indefinite
from chaos.models.log.operations import Commit, GoesOn
from chaos.models.log.words import F
from cluster.systems.kafka.servers import barrier_of

COMMIT_OP, ASK_OP = op(F.COMMIT, Commit(offset=12)), op(F.COMMITTED_READ)


def test_a_commit_goes_to_the_coordinator_without_a_member():
    seen = []

    def answer(reader):
        seen.append((reader.text(), reader.int32(), reader.text(), reader.maybe_text()))

        def partition():
            return reader.int32(), reader.int64(), reader.int32(), reader.maybe_text()

        seen.extend(reader.array(lambda: (reader.text(), reader.array(partition))))
        return committed()

    out, asked = run([COMMIT_OP] * 2, {COORDINATOR: coordinator(1), COMMIT: answer}, number=7)
    assert (out, asked) == ([("b1", None)] * 2, [COORDINATOR, COMMIT, COMMIT])
    assert seen[:2] == [(f"{VIEW.mark}-group", -1, "", None), (VIEW.mark, [(3, 12, -1, None)])]


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (committed(14), (Definite, "COORDINATOR_LOAD_IN_PROGRESS")),
        (committed(16), (Indefinite, "NOT_COORDINATOR")),
        (committed(15), (Indefinite, "COORDINATOR_NOT_AVAILABLE")),
        (b"", (Indefinite, "malformed answer: an answer that ends too soon")),
        (StopIteration, (Indefinite, "closed")),
    ],
)
def test_after_a_commit_that_went_wrong_somebody_is_asked_who_coordinates(answer, out):
    said, asked = run([COMMIT_OP] * 2, {COORDINATOR: coordinator(1), COMMIT: answer})
    assert (said, asked) == ([out] * 2, [COORDINATOR, COMMIT] * 2)


def test_where_the_group_goes_on_counts_once_the_coordinator_took_a_commit_behind_it():
    barriers = []

    def answer(reader):
        reader.text(), reader.int32(), reader.text(), reader.maybe_text(), reader.int32()
        barriers.append(reader.text())
        return committed(key=0)

    answers = {COORDINATOR: coordinator(1), COMMITTED: committed_offset(12), COMMIT: answer}
    assert run([ASK_OP], answers) == ([("b1", GoesOn(12))], [COORDINATOR, COMMITTED, COMMIT])
    assert barriers == [barrier_of(VIEW)]
    assert run([ASK_OP], {**answers, COMMITTED: committed_offset(-1)})[0] == [("b1", GoesOn(None))]


def test_only_what_is_stable_is_an_answer():
    """A coordinator that has just taken over may know commits that are above what it knows to be replicated."""
    seen = []

    def answer(reader):
        seen.append(reader.compact_text())
        seen.extend(
            reader.compact_array(lambda: (reader.compact_text(), reader.compact_array(reader.int32), reader.tags()))
        )
        seen.append(reader.flag())
        return committed_offset(12)

    answers = {COORDINATOR: coordinator(1), COMMITTED: answer, COMMIT: committed(key=0)}
    assert run([ASK_OP], answers)[0] == [("b1", GoesOn(12))]
    assert seen == [f"{VIEW.mark}-group", (VIEW.mark, [3], None), True]
    assert run([ASK_OP], {**answers, COMMITTED: committed_offset(-1, error=88)})[0] == [
        (Definite, "UNSTABLE_OFFSET_COMMIT")
    ]


def test_a_member_commits_under_its_name_and_generation():
    seen = []

    def answer(reader):
        reader.text()
        seen.append((reader.int32(), reader.text()))
        return committed()

    answers = {COORDINATOR: coordinator(1), JOIN: joined("m1", 4), SYNC: synced(), HEARTBEAT: heard(), COMMIT: answer}
    out, asked = run([COMMIT_OP] * 2, answers, **{"client.members": "on"})
    assert (out, asked) == ([("b1", None)] * 2, [COORDINATOR, JOIN, SYNC, COMMIT, HEARTBEAT, COMMIT])
    assert seen == [(4, "m1")] * 2
    assert run([COMMIT_OP], {**answers, JOIN: joined("", error=15)}, **{"client.members": "on"}) == (
        [(Definite, "no place in the group: COORDINATOR_NOT_AVAILABLE")],
        [COORDINATOR, JOIN],
    )


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({COORDINATOR: coordinator(-1, error=15)}, "no coordinator: COORDINATOR_NOT_AVAILABLE"),
        ({COMMITTED: committed_offset(-1, error=16)}, "NOT_COORDINATOR"),
        ({COMMITTED: committed_offset(-1, whole=14)}, "COORDINATOR_LOAD_IN_PROGRESS"),
        ({COMMIT: committed(16, key=0)}, "not the coordinator any more, maybe: NOT_COORDINATOR"),
        ({COMMIT: StopIteration}, "not the coordinator any more, maybe: connection"),
    ],
)
def test_a_question_that_was_refused_or_not_confirmed_has_failed(answers, said):
    good = {COORDINATOR: coordinator(1), COMMITTED: committed_offset(12), COMMIT: committed(key=0)}
    (((kind, text),), _) = run([ASK_OP], {**good, **answers})
    assert kind is Definite
    assert text.startswith(said)


@pytest.mark.parametrize("one", [COMMIT_OP, ASK_OP], ids=lambda one: one.f.word)
def test_a_paused_coordinator_is_asked_once(one):
    ((kind, said),), asked = run([one], {COORDINATOR: coordinator(1)}, within_s=2)
    assert (kind, said, len(asked)) == (Indefinite, "no answer before the deadline", 2)
