"""What the words of a model are to the checks of any model."""

import pytest

from checkers.history.words import _of_model


@pytest.mark.parametrize(
    ("model", "changing", "timed"),
    [
        ("log", {"send", "schedule", "transact"}, ["send", "schedule", "transact", "poll", "read", "slave-read"]),
        ("register", {"write", "cas"}, ["write", "read"]),  # a comparison that does not hold is an answer
        ("set", {"add"}, ["add", "read"]),
        ("counter", {"add"}, ["add", "read"]),
        ("unique-ids", {"generate"}, ["generate"]),
        ("lease", {"grant", "renew", "revoke"}, ["grant", "read"]),
        ("watch", {"write", "put"}, ["write", "put"]),
        ("kv", {"put", "delete", "compare-put", "txn"}, ["put", "delete", "txn", "get", "range"]),
        ("lock", {"acquire", "guarded", "unlock"}, ["guarded"]),
        ("semaphore", {"acquire", "give-back"}, []),
        ("total-queue", {"enqueue"}, ["enqueue", "dequeue"]),
    ],
)
def test_what_recovery_is_measured_of(model, changing, timed):
    words = _of_model(model)
    assert words.changing == changing
    assert set(words.timed_changes) == changing & set(timed)
    assert [words.named[number] for number in words.timed] == timed
    assert words.changes_of(1) == f"1 {words.change}"
    assert words.changes_of(3) == f"3 {words.change}s"
