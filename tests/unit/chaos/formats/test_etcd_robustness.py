"""Report folders of etcd's robustness suite: what is read, and what is said of a folder that is none."""

import json
import re

import pytest
from support.etcd_report import Report, content, get, put

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats.etcd_robustness import read_report
from chaos.formats.etcd_text import answer_text, request_text
from chaos.formats.registry import read

READ = {
    "Range": {"KVs": [{"Key": "a", "Value": content("1"), "ModRevision": 2, "Version": 1}], "Count": 1},
    "Revision": 2,
}


def of_3_5(part):
    """A record whose operation names its key itself, as etcd 3.5's suite wrote it."""
    txn = {"Conditions": None, "OperationsOnSuccess": [part], "OperationsOnFailure": None}
    return json.dumps({"Input": {"Type": "txn", "Txn": txn}, "Call": 1, "Return": 2, "Output": {}})


@pytest.fixture
def report():
    made = Report()
    made.add(1, put("a", "1"), 10, 20, {"Txn": {"Failure": False, "Results": [{}]}, "Revision": 2})
    made.add(1, put("a", "2"), 30, 40, {"Error": "timeout"})
    made.add(2, get("a"), 15, 25, {**READ, "member-id": "ab", "Metadata": None})
    made.add(10, {"Type": "compact", "Compact": {"Revision": 9}}, 50, 60, {"ClientError": "mvcc: future revision"})
    made.watch(2, [{"Events": None, "IsProgressNotify": True, "Revision": 2}])
    return made


def test_clients_are_read_in_the_order_of_their_numbers(report, tmp_path):
    found = read_report(report.write(tmp_path))
    assert [(one.number, one.at) for one in found.operations] == [
        (1, "client-1/operations.json:1"),
        (2, f"client-1/operations.json:{1 + len(json.dumps(report.clients[1][0], indent=2).splitlines())}"),
        (3, "client-2/operations.json:1"),
        (4, "client-10/operations.json:1"),
    ]
    assert [(one.number, one.client, one.at) for one in found.watches] == [(5, 2, "client-2/watch.json:1")]
    assert found.cut_off is None
    assert answer_text(found.operations[2].request, found.operations[2].response) == "a=1 (revision 2) at revision 2"
    assert request_text(found.operations[3].request) == "up to 9"


def test_operations_are_as_of_other_formats(report, tmp_path):
    items = read(report.write(tmp_path), "etcd-robustness").items
    assert [(one.f, one.type, one.invoke, one.argument) for one in items] == [
        ("put", Type.OK, 10, "a=1"),
        ("get", Type.OK, 15, "a"),
        ("put", Type.INFO, 30, "a=2"),
        ("compact", Type.FAIL, 50, "up to 9"),
    ]


def test_a_record_a_line_is_read_too(report, tmp_path):
    folder = report.write(tmp_path)
    text = "\n\n".join(json.dumps(one) for one in report.clients[1])
    (folder / "client-1" / "operations.json").write_text(text)
    assert [one.at for one in read_report(folder).operations][:2] == [
        "client-1/operations.json:1",
        "client-1/operations.json:3",
    ]


def test_a_file_that_ends_within_a_record_is_read_as_far_as_it_goes(report, tmp_path):
    folder = report.write(tmp_path)
    path = folder / "client-1" / "operations.json"
    path.write_text(path.read_text()[:-40])
    found = read_report(folder)
    assert len(found.operations) == 3
    assert re.fullmatch(r"client-1/operations.json ends within the record of line \d+", found.cut_off)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"Input": 3}', r"operations.json:1: no record of etcd's robustness suite as 3.6 and later write it: .*"),
        ("nonsense", r"operations.json:1: no record of etcd's robustness suite"),
        (json.dumps({"Input": {"Type": "sing"}, "Call": 1, "Return": 2, "Output": {}}), "there is no request 'sing'"),
        (json.dumps({"Input": {"Type": "txn"}, "Call": 1, "Return": 2, "Output": {}}), "without what it asks for"),
        (of_3_5({"Type": "put-operation", "Key": "a", "Value": content("1")}), "a put-operation without a key"),
        (of_3_5({"Type": "delete-operation", "Key": "a"}), "a delete-operation without a key"),
        (of_3_5({"Type": "range-operation", "Key": "a"}), "as files of before etcd 3.6 have it"),
        (
            json.dumps({"Input": put("a", "1"), "Call": 7, "Return": 7, "Output": {}}),
            "returns at 7, not after its call",
        ),
    ],
)
def test_what_is_wrong_with_a_record_is_said_with_its_line(tmp_path, text, said):
    (tmp_path / "client-1").mkdir()
    (tmp_path / "client-1" / "operations.json").write_text(text + "\n")
    with pytest.raises(HistoryError, match=said):
        read_report(tmp_path)


def test_what_is_no_report_folder_is_refused(report, tmp_path):
    folder = report.write(tmp_path / "inner")
    with pytest.raises(HistoryError, match=r"there is no folder client-N in it; did you mean .*/inner\?"):
        read_report(tmp_path)
    with pytest.raises(HistoryError, match="a file; --format etcd-robustness takes the report folder"):
        read_report(folder / "client-1" / "operations.json")
    (tmp_path / "empty" / "client-3").mkdir(parents=True)
    with pytest.raises(HistoryError, match=r"no client has operations.json or watch.json"):
        read_report(tmp_path / "empty")
    with pytest.raises(HistoryError, match="name the folder of a test that the suite kept"):
        read_report(tmp_path / "nowhere")
