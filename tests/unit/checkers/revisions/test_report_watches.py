"""A report folder per rule of watches: a valid one, and each way to break it (semantics.md, 35, 36 and 66)."""

import copy

import pytest
from support.etcd_report import Etcd, Report, delete, get, put, put_part, txn

from checkers.imported.judge_file import judge
from checkers.imported.options import Question

ANSWERED = (put("a", "1"), put("a", "2"), txn([put_part("b", "3"), put_part("c", "4")]), delete("a"), put("a", "5"))


@pytest.fixture
def report():
    """Six revisions of three keys, and a watch that was told all of them."""
    etcd, made = Etcd(), Report()
    for i, request in enumerate((get("a"), *ANSWERED)):
        made.add(1, request, 10 * i + 1, 10 * i + 5, etcd.apply(request))
    messages = [{"Events": own, "Revision": own[0]["Revision"], "Time": 1} for own in etcd.events]
    made.watch(2, [*copy.deepcopy(messages), {"IsProgressNotify": True, "Revision": 6, "Time": 2}])
    made.etcd = etcd
    return made


@pytest.fixture
def judged(tmp_path, report):
    def of():
        return judge(report.write(tmp_path / "report"), Question(format="etcd-robustness", model="kv"), "local")

    return of


def messages(report):
    return report.watches[2][0]["Responses"]


def found(results):
    return {name: one.count for name, one in results.anomalies.items()}


def test_a_watch_that_was_told_everything_is_valid(report, judged):
    report.watch(3, [{"Events": copy.deepcopy(report.etcd.events[1])}], key="a", revision=3, WithPrefix=False)
    report.watch(3, [{"IsProgressNotify": True, "Revision": 4}], key="a", revision=4, WithPrefix=False)
    report.watch(4, [{"Error": "mvcc: required revision has been compacted"}])
    results = judged()
    assert (results.valid, found(results)) == (True, {})
    assert [one.name for one in results.checks] == ["kv", "watch"]
    assert results.checks[1].examined == "7 events of 4 watches"


def backwards(told):
    told[0], told[1] = told[1], told[0]


def once_more(told):
    told.insert(1, copy.deepcopy(told[0]))


def apart(told):
    one = told[2]
    told[2:3] = [{"Events": [event]} for event in one["Events"]]


def left_out(told):
    del told[1]


def last_left_out(told):
    del told[4]


def half_of_the_last(told):
    del told[3:]
    told[2]["Events"].pop()


def another_value(told):
    told[1]["Events"][0]["Value"] = {"Value": "77"}


def another_key(told):
    told[1]["Events"][0]["Key"] = "b"


def nothing_deleted(told):
    told[3]["Events"][0]["Key"] = "zz"


def another_before(told):
    told[1]["Events"][0]["PrevValue"]["Value"] = {"Value": "77"}


def another_version_before(told):
    told[1]["Events"][0]["PrevValue"]["Version"] = 5


def created_again(told):
    told[1]["Events"][0]["IsCreate"] = True


def not_created(told):
    del told[4]["Events"][0]["IsCreate"]


def bookmark_too_early(told):
    told.insert(2, {"IsProgressNotify": True, "Revision": 4})


def bookmark_steps_back(told):
    told.append({"IsProgressNotify": True, "Revision": 5})


def behind_the_end(told):
    told.append(
        {"Events": [{"Type": "put-operation", "Key": "q", "Value": {"Value": "1"}, "Revision": 7, "IsCreate": True}]}
    )


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (backwards, {"watch-reordered"}),
        (once_more, {"watch-duplicate"}),
        (apart, {"watch-torn"}),
        (left_out, {"watch-skipped"}),
        (last_left_out, {"watch-skipped"}),
        (half_of_the_last, {"watch-torn"}),
        (another_value, {"watch-phantom"}),
        (another_key, {"watch-phantom", "watch-skipped"}),
        (nothing_deleted, {"watch-phantom", "watch-skipped"}),
        (another_before, {"watch-wrong-previous"}),
        (another_version_before, {"watch-wrong-previous"}),
        (created_again, {"watch-wrong-previous"}),
        (not_created, {"watch-wrong-previous"}),
        (bookmark_too_early, {"watch-bookmark-broken"}),
        (bookmark_steps_back, {"watch-bookmark-broken"}),
        (behind_the_end, {"watch-phantom"}),
    ],
)
def test_each_broken_guarantee_has_its_name(report, judged, change, names):
    change(messages(report))
    results = judged()
    assert results.valid is False
    assert names <= set(found(results)) <= names | {"watch-wrong-previous", "watch-skipped"}
    assert results.checks[0].valid is True
    example = results.checks[1].anomalies[min(names)].examples[0]
    assert example.ops[0]["at"] == "client-2/watch.json:1"


def test_a_watch_begins_where_it_asked_to(report, judged):
    report.watches[2][0]["Request"]["Revision"] = 3
    results = judged()
    assert found(results) == {"watch-before-start": 1}
    assert results.sentence == (
        "client 2: a watch was told revision 2 of key a (value 1) although it was to begin at revision 3"
    )


def test_a_watch_is_told_only_of_its_keys(report, judged):
    report.watches[2][0]["Request"] |= {"Key": "a", "WithPrefix": False}
    results = judged()
    assert found(results) == {"watch-unasked": 2}
    assert results.sentence == "client 2: a watch of key 'a' was told revision 4 of key b"


def test_a_resumed_watch_misses_its_first_change(report, judged):
    report.watch(3, [{"Events": copy.deepcopy(report.etcd.events[3])}], revision=3)
    assert found(judged()) == {"watch-skipped": 3}


def test_a_value_before_may_be_forgotten(report, judged):
    del messages(report)[1]["Events"][0]["PrevValue"]
    assert judged().valid is True


def test_a_watch_shows_which_write_of_unknown_outcome_took_place(report, judged):
    lost = {"Error": "etcdserver: request timed out"}
    report.add(3, put("a", "8"), 70, 75, lost)
    report.add(4, put("a", "9"), 70, 75, lost)
    report.etcd.apply(put("a", "9"))
    messages(report).append({"Events": report.etcd.events[-1]})
    report.add(1, get("b"), 80, 85, report.etcd.apply(get("b")))
    assert judged().valid is True
    report.add(1, get("a"), 90, 95, report.etcd.apply(get("a")))
    assert judged().valid is True
    report.clients[1][-1]["Output"]["Range"]["KVs"][0]["Value"] = {"Value": "8"}
    assert judged().valid is False


def test_a_change_behind_the_last_answer_may_be_one_of_unknown_outcome(report, judged):
    report.add(3, put("q", "9"), 70, 75, {"Error": "etcdserver: request timed out"})
    report.etcd.apply(put("q", "9"))
    messages(report).append({"Events": report.etcd.events[-1]})
    assert judged().valid is True


def test_watches_are_not_held_against_operations_that_are_wrong(report, judged):
    report.operations[-1]["Output"]["Revision"] = 5
    left_out(messages(report))
    results = judged()
    assert results.valid is False
    assert results.checks[1].valid == "unknown"
    assert "the operations are not valid" in results.checks[1].reason
