"""The outcome table: a test per row, with remarks as the brokers write them."""

import pytest

from chaos.core.op import Type
from cluster.systems.rocketmq.outcomes import TABLE, describe_answer, of_send

# (code, remark, mode) → (row of the table, outcome, error)
CASES = [
    (0, "", "controller", 0, Type.OK, ""),
    (
        2,
        "[REJECTREQUEST]system busy, start flow control for a while",
        "controller",
        1,
        Type.FAIL,
        "SYSTEM_BUSY: not master",
    ),
    (
        2,
        "[OVERLOAD]system busy, start flow control for a while",
        "controller",
        2,
        Type.FAIL,
        "SYSTEM_BUSY: thread pool full",
    ),
    (
        2,
        "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 203ms, size of queue: 7",
        "controller",
        3,
        Type.FAIL,
        "SYSTEM_BUSY: waited too long in the queue",
    ),
    (
        2,
        "[PCBUSY_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 203ms",
        "controller",
        3,
        Type.FAIL,
        "SYSTEM_BUSY: waited too long in the queue",
    ),
    (
        2,
        "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
        "dledger",
        4,
        Type.INFO,
        "SYSTEM_BUSY: log busy",
    ),
    (
        2,
        "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
        "controller",
        5,
        Type.FAIL,
        "SYSTEM_BUSY: page cache busy",
    ),
    (
        2,
        "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
        "master-slave",
        5,
        Type.FAIL,
        "SYSTEM_BUSY: page cache busy",
    ),
    (2, "", "controller", 6, Type.FAIL, "SYSTEM_BUSY"),
    (1, "in-sync replicas not enough", "dledger", 7, Type.INFO, "SYSTEM_ERROR: in-sync replicas not enough"),
    (1, "in-sync replicas not enough", "controller", 8, Type.FAIL, "SYSTEM_ERROR: in-sync replicas not enough"),
    (1, "in-sync replicas not enough", "master-slave", 8, Type.FAIL, "SYSTEM_ERROR: in-sync replicas not enough"),
    (
        1,
        "broker unable to service, until 2026-11-21 07:15:00,000",
        "controller",
        9,
        Type.FAIL,
        "SYSTEM_ERROR: broker does not serve yet",
    ),
    (1, "java.lang.NullPointerException, Cannot invoke …", "controller", 10, Type.INFO, "SYSTEM_ERROR"),
    (3, " request type 310 not supported", "controller", 11, Type.FAIL, "REQUEST_CODE_NOT_SUPPORTED"),
    (10, "", "controller", 12, Type.INFO, "FLUSH_DISK_TIMEOUT"),
    (11, "", "controller", 13, Type.INFO, "SLAVE_NOT_AVAILABLE"),
    (12, "", "controller", 14, Type.INFO, "FLUSH_SLAVE_TIMEOUT"),
    (12, "", "master-slave", 14, Type.INFO, "FLUSH_SLAVE_TIMEOUT"),
    (
        13,
        "the message is illegal, maybe msg body or properties length not matched.",
        "controller",
        15,
        Type.FAIL,
        "MESSAGE_ILLEGAL",
    ),
    (14, "service not available now.", "dledger", 16, Type.INFO, "SERVICE_NOT_AVAILABLE"),
    (
        14,
        "service not available now. It may be caused by one of the following reasons: the broker's disk is full",
        "controller",
        17,
        Type.FAIL,
        "SERVICE_NOT_AVAILABLE",
    ),
    (14, "service not available now.", "master-slave", 17, Type.FAIL, "SERVICE_NOT_AVAILABLE"),
    (16, "the broker[198.18.0.14] sending message is forbidden", "controller", 18, Type.FAIL, "NO_PERMISSION"),
    (17, "topic[chaos] not exist, apply first please!", "controller", 19, Type.FAIL, "TOPIC_NOT_EXIST"),
    (29, "request queueId[99] is illegal", "controller", 20, Type.FAIL, "INVALID_PARAMETER"),
]


@pytest.mark.parametrize(("code", "remark", "mode", "row", "kind", "error"), CASES)
def test_row(code, remark, mode, row, kind, error):
    assert of_send(code, remark, mode) == (kind, error)
    assert (TABLE[row].code, TABLE[row].type, TABLE[row].error) == (code, kind, error)


def test_every_row_has_its_case():
    assert {case[3] for case in CASES} == set(range(len(TABLE)))


@pytest.mark.parametrize("code", [4, 15, 18, 25, 215, 501, 1500, 2007, -1000])
def test_an_answer_that_no_row_names_is_info(code):
    assert of_send(code, "whatever").type is Type.INFO


def test_fail_is_claimed_for_nothing_that_may_have_been_appended():
    """The codes that a broker answers after it has appended, by SendMessageProcessor.handlePutMessageResult."""
    assert {of_send(code, "", "controller").type for code in (1, 10, 11, 12)} == {Type.INFO}


def test_errors_are_stable_to_group_by():
    text = describe_answer(99, "no route of 198.18.0.14:10911 at 123456")
    assert text == "code 99: no route of N.N.N.N:N at N"
    assert describe_answer(26, "subscription group [G] does not exist, See https://example.invalid/x for help") == (
        "SUBSCRIPTION_GROUP_NOT_EXIST: subscription group [G] does not exist,"
    )
    assert all(not any(letter.isdigit() for letter in row.error) for row in TABLE)
