"""A report folder per rule of the key space: a valid one, and each way to break it (semantics.md, 66)."""

import pytest
from support.etcd_report import Etcd, Report, compact, delete, delete_part, get, lease, put, put_part, range_part, txn

from checkers.imported.judge_file import judge
from checkers.imported.options import Question

LOST = {"Error": "etcdserver: request timed out"}
COMPACTED = {"ClientError": "mvcc: required revision has been compacted"}
FUTURE = {"ClientError": "mvcc: required revision is a future revision"}


class Story:
    """Operations one after the other, ten instants each, as etcd answers them; or as it is told to."""

    def __init__(self):
        self.etcd, self.report, self.now = Etcd(), Report(), 0
        self.did(get("a"))

    def did(self, request, client=1, **more):
        """Ask, and be answered as it is right; ``more`` changes the answer."""
        return self.told(request, {**self.etcd.apply(request), **more}, client)

    def told(self, request, answer, client=1, *, call=None, ret=None):
        """Be answered so; etcd does nothing."""
        self.now += 10
        call, ret = call or self.now, ret or self.now + 5
        return self.report.add(client, request, call, ret, answer)

    def lost(self, request, *, done):
        """Get no answer."""
        if done:
            self.etcd.apply(request)
        return self.told(request, LOST, client=9)


@pytest.fixture
def story():
    return Story()


@pytest.fixture
def verdict(tmp_path, story):
    def of(budget_s=20.0):
        folder = story.report.write(tmp_path / "report")
        return judge(folder, Question(format="etcd-robustness", model="kv", budget_s=budget_s), "local")

    return of


def found(results):
    return {name: one.count for name, one in results.anomalies.items()}


def a_little_of_everything(story):
    story.did(lease("grant", 7))
    story.did(put("a", "1"))
    story.did(put("b", "2", 7))
    story.did(txn([put_part("a", "3")], [range_part("a")], [{"Key": "a", "ExpectedRevision": 2}]))
    story.did(txn([put_part("a", "4")], [range_part("a")], [{"Key": "a", "ExpectedRevision": 2}]))
    story.did(txn([delete_part("a")], None, [{"Key": "a", "ExpectedVersion": 2}]))
    story.did(delete("a"))
    story.did(lease("revoke", 7))
    story.did(get("a", "z"))
    story.did(get("a", "z", 0, 3))
    story.did(compact(4))
    story.did(compact(4))
    story.did(compact(99))
    story.did({"Type": "defragment", "Defragment": {}})


def test_what_etcd_answers_is_valid(story, verdict):
    a_little_of_everything(story)
    results = verdict()
    assert (results.valid, results.anomalies) == (True, {})
    assert results.checks[0].examined == "15 operations of 1 client"
    assert results.absent["watch"] == "no client watched anything"


def test_a_read_behind_an_acknowledged_write_is_below_its_revision(story, verdict):
    story.did(put("a", "1"))
    story.told(get("a"), {"Range": {"KVs": [], "Count": 0}, "Revision": 1}, client=2)
    results = verdict()
    assert found(results) == {"kv-stale-read": 1}
    assert results.sentence == (
        "get a (op 3, client 2) was answered at revision 1, though put a=1 (op 2, client 1) had returned at 2 before"
    )
    assert [one["at"] for one in results.anomalies["kv-stale-read"].examples[0].ops] == [
        "client-2/operations.json:1",
        story_place(results),
    ]


def story_place(results):
    return results.anomalies["kv-stale-read"].examples[0].ops[1]["at"]


def test_a_read_that_was_under_way_may_be_of_before(story, verdict):
    wrote = story.did(put("a", "1"))
    story.told(
        get("a"),
        {"Range": {"KVs": [], "Count": 0}, "Revision": 1},
        client=2,
        call=wrote["Return"],
        ret=wrote["Return"] + 9,
    )
    assert verdict().valid is True


def test_a_write_behind_an_answer_is_above_its_revision(story, verdict):
    story.did(put("a", "1"))
    story.did(put("b", "2"))
    first, second = story.report.operations[1:]
    first["Output"], second["Output"] = second["Output"], first["Output"]
    results = verdict()
    assert found(results) == {"kv-revision-reordered": 1}


def test_two_writes_have_two_revisions(story, verdict):
    story.did(put("a", "1"))
    story.told(put("b", "2"), {"Txn": {"Failure": False, "Results": [{}]}, "Revision": 2}, client=2, call=20, ret=25)
    assert found(verdict()) == {"kv-revision-twice": 1}


def test_a_read_shows_what_was_acknowledged(story, verdict):
    story.did(put("a", "1"))
    story.did(put("b", "2"))
    story.did(get("a"), Range={"KVs": [], "Count": 0})
    results = verdict()
    assert found(results) == {"kv-wrong-read": 1}
    assert results.sentence == "get a (op 4, client 1) at revision 3: it did not return a, which held 1 of revision 2"
    assert [one["op"] for one in results.anomalies["kv-wrong-read"].examples[0].ops] == [4, 2]


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({"Value": {"Value": "9"}, "ModRevision": 2, "Version": 1}, "with 9 of revision 2, which held 1 of revision 2"),
        ({"Value": {"Value": "1"}, "ModRevision": 1, "Version": 1}, "with 1 of revision 1, which held 1 of revision 2"),
        ({"Value": {"Value": "1"}, "ModRevision": 2, "Version": 4}, "as its version 4, not 1"),
    ],
)
def test_a_read_returns_value_revision_and_version(story, verdict, held, said):
    story.did(put("a", "1"))
    story.did(get("a"), Range={"KVs": [{"Key": "a", **held}], "Count": 1})
    results = verdict()
    assert found(results) == {"kv-wrong-read": 1}
    assert said in results.sentence


def test_a_read_counts_what_is_above_its_limit(story, verdict):
    story.did(put("a", "1"))
    story.did(put("b", "2"))
    story.did(get("a", "z", 1))["Output"]["Range"]["Count"] = 1
    results = verdict()
    assert "it counted 1 keys, there were 2" in results.sentence


def test_a_read_of_the_past_returns_the_past(story, verdict):
    story.did(put("a", "1"))
    story.did(put("a", "2"))
    story.did(get("a", revision=2))
    assert verdict().valid is True
    story.report.operations[-1]["Output"]["Range"] = story.etcd.apply(get("a"))["Range"]
    assert found(verdict()) == {"kv-wrong-read": 1}


def test_a_revision_that_is_not_there_yet_is_not_read(story, verdict):
    story.told(get("a", revision=5), {"Range": {"KVs": [], "Count": 0}, "Revision": 1})
    assert "before the one that it asked for" in verdict().sentence


def test_a_transaction_takes_the_branch_of_its_conditions(story, verdict):
    story.did(put("a", "1"))
    asked = txn([put_part("b", "2")], [put_part("c", "3")], [{"Key": "a", "ExpectedRevision": 1}])
    story.did(asked)["Output"]["Txn"]["Failure"] = False
    results = verdict()
    assert found(results) == {"kv-wrong-answer": 1}
    assert "it took the branch «then», by its conditions it had to take «else»" in results.sentence


def test_a_delete_counts_what_was_there(story, verdict):
    story.did(put("a", "1"))
    story.did(delete("a"))
    story.told(delete("a"), {"Txn": {"Failure": False, "Results": [{"Deleted": 1}]}, "Revision": 4})
    results = verdict()
    assert found(results) == {"kv-wrong-answer": 1}
    assert "it said that it deleted 1 keys, and a was not there" in results.sentence


def test_what_is_attached_to_a_lease_ends_with_it(story, verdict):
    story.did(lease("grant", 7))
    story.did(put("a", "1", 7))
    story.told(lease("revoke", 7), {"LeaseRevoke": {}, "Revision": 2})
    assert "lease 7 was revoked, and a was still attached to it" in verdict().sentence


def test_nothing_is_put_with_a_lease_that_was_revoked(story, verdict):
    story.did(lease("grant", 7))
    story.did(lease("revoke", 7))
    story.did(put("b", "1"))
    story.told(put("a", "1", 7), {"Txn": {"Failure": False, "Results": [{}]}, "Revision": 3})
    assert "the put was acknowledged with lease 7, which had been revoked" in verdict().sentence


def test_no_revision_is_left_out(story, verdict):
    story.did(put("a", "1"))
    story.etcd.revision += 1
    story.did(put("b", "2"))
    results = verdict()
    assert found(results) == {"kv-revision-skipped": 1}
    assert results.sentence == "revision 3 was reached, and no operation made it"


def test_a_write_of_unknown_outcome_may_have_made_a_revision(story, verdict):
    story.lost(put("b", "7"), done=True)
    story.did(put("a", "1"))
    story.did(get("a", "z"))
    assert verdict().valid is True


def test_a_write_that_was_called_later_has_not_made_it(story, verdict):
    story.etcd.revision += 1
    story.did(put("a", "1"))
    story.lost(put("b", "7"), done=False)
    assert found(verdict()) == {"kv-revision-skipped": 1}


def test_a_write_of_unknown_outcome_takes_place_once(story, verdict):
    story.lost(put("b", "7"), done=True)
    story.did(delete("b"))
    story.etcd.apply(put("b", "7"))
    story.did(put("a", "1"))
    story.did(get("b"))
    assert found(verdict()) == {"kv-revision-skipped": 1}


def test_which_of_two_writes_took_place_is_found_by_what_was_read_later(story, verdict):
    """Only the second delete explains the last read, though the first would do at its revision."""
    story.did(put("a", "1"))
    story.did(put("b", "2"))
    story.lost(delete("a"), done=False)
    story.lost(delete("b"), done=True)
    story.did(put("c", "3"))
    story.did(get("c"))
    story.did(put("d", "4"))
    story.did(get("a"))
    assert verdict().valid is True
    story.did(get("b"), Range={"KVs": [], "Count": 0})
    story.did(get("a"), Range={"KVs": [], "Count": 0})
    assert verdict().valid is False


@pytest.mark.parametrize(
    ("revision", "answer", "said"),
    [
        (1, {"Compact": {}, "Revision": -1}, "forgotten twice"),
        (9, {"Compact": {}, "Revision": -1}, "the store was at 2 at most"),
        (2, COMPACTED, "nobody had history up to 2 forgotten"),
        (2, FUTURE, "revision 2 was there before it was called"),
    ],
)
def test_compactions_are_answered_by_what_there_is(story, verdict, revision, answer, said):
    story.did(put("a", "1"))
    story.did(compact(1))
    story.told(compact(revision), answer)
    results = verdict()
    assert found(results) == {"kv-wrong-answer": 1}
    assert said in results.sentence


def test_compactions_that_were_answered_go_up(story, verdict):
    story.did(put("a", "1"))
    story.did(compact(2))
    story.told(compact(1), {"Compact": {}, "Revision": -1})
    assert "forgotten before" in verdict().sentence


def test_a_store_that_was_not_empty_says_nothing_of_its_reads(story, verdict):
    story.report.clients[1].clear()
    story.did(put("b", "0"))["Output"]["Revision"] = 40
    held = [{"Key": "z", "ModRevision": 2}]
    story.told(get("z"), {"Range": {"KVs": held, "Count": 1}, "Revision": 40})
    results = verdict()
    assert results.valid == "unknown"
    assert results.reason.startswith("nobody was answered at revision 1, or changed it to 2")
    story.told(put("y", "1"), {"Txn": {"Results": [{}]}, "Revision": 40})
    assert set(found(verdict())) == {"kv-revision-twice", "kv-revision-reordered"}


def test_a_first_change_at_revision_2_shows_that_nothing_was_there_before(story, verdict):
    story.report.clients[1].clear()
    story.did(put("a", "1"))
    assert verdict().valid is True


def test_a_search_that_takes_too_long_says_so(story, verdict):
    for number in range(80):
        story.lost(put("b", str(number)), done=number % 2 == 0)
    story.did(put("a", "1"))
    story.did(get("a"))
    results = verdict(budget_s=0.0)
    assert results.valid == "unknown"
    assert "gave up: 0 s were over" in results.reason


def test_of_a_file_that_ends_too_early_only_revisions_against_each_other_stand(story, verdict, tmp_path):
    story.did(put("a", "1"))
    story.did(get("a"), Range={"KVs": [], "Count": 0})
    story.report.write(tmp_path / "report")
    path = tmp_path / "report" / "client-1" / "operations.json"
    story.told(get("z"), {"Range": {"KVs": [], "Count": 0}, "Revision": 2})
    whole = path.read_text()
    story.report.write = lambda folder: folder
    path.write_text(f'{whole}{{\n  "ClientId"')
    results = verdict()
    assert results.valid == "unknown"
    assert results.anomalies["kv-wrong-read"].allowed
    assert "ends within the record of line" in results.reason
