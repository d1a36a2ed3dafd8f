"""Whether a broker is master, and of which epoch, in each mode, from scripted answers; DLedger terms that move."""

import asyncio

import msgspec
import pytest

from chaos.core.client import Definite
from chaos.core.clock import NS_PER_S, now_ns
from cluster.systems.rocketmq.dledger import Member, parse_leader, parse_term
from cluster.systems.rocketmq.dledger import Standing as Raft
from cluster.systems.rocketmq.leadership_claim import LeadershipClaim, fetch_claim, parse_epochs, parse_role
from cluster.systems.rocketmq.protocol import Answer, ProtocolError, Request


def answer(body=b"", code=0, **fields):
    return Answer(code, 1, True, "", fields, body)


class Scripted:
    """A link whose answers are given by request code, one after another; the last one stays."""

    def __init__(self, **answers):
        self._answers = {Request[name]: list(given) for name, given in answers.items()}

    async def request(self, code, fields, deadline_ns, body=b""):
        given = self._answers[Request(code)]
        return given.pop(0) if len(given) > 1 else given[0]


def term(value):
    return answer(msgspec.json.encode({"code": 403, "term": value}))


def leader(name):
    return answer(msgspec.json.encode({"code": 200, "term": -1, "leaderId": name}), 200)


MASTER, SLAVE = answer(masterAddress="198.18.0.11:10911"), answer()


def ask(*args):
    return asyncio.run(fetch_claim(*args))


def soon():
    return now_ns() + NS_PER_S


def test_a_classic_broker_is_master_in_the_one_epoch_there_is():
    assert ask(Scripted(EXCHANGE_BROKER_HA_INFO=[MASTER]), soon(), "master-slave") == LeadershipClaim(True, 1)
    assert ask(Scripted(EXCHANGE_BROKER_HA_INFO=[SLAVE]), soon(), "master-slave") == LeadershipClaim(False, None)


@pytest.mark.parametrize(
    ("role", "leads", "found"),
    [
        (MASTER, "b1", LeadershipClaim(True, 3, "b1")),
        (SLAVE, "b1", LeadershipClaim(False, 3, "b1")),  # elected, and not yet up to what was agreed on
        (MASTER, "b2", LeadershipClaim(False, 3, "b2")),  # replaced, and not yet told
        (SLAVE, None, LeadershipClaim(False, 3, None)),
    ],
)
def test_a_dledger_broker_is_master_once_it_leads_and_serves(role, leads, found):
    member = Member(Scripted(DLEDGER_HEART_BEAT=[term(3)], DLEDGER_METADATA=[leader(leads)]), "g0", "b1", ("b2", "b3"))
    assert ask(Scripted(EXCHANGE_BROKER_HA_INFO=[role]), soon(), "dledger", "b1", member) == found


def test_a_leader_is_named_in_the_term_in_which_it_was():
    link = Scripted(DLEDGER_HEART_BEAT=[term(3), term(4), term(4)], DLEDGER_METADATA=[leader("b1"), leader("b2")])
    found = asyncio.run(Member(link, "g0", "b1", ("b2",)).leadership(soon()))
    assert found == Raft("b2", 4)


def test_a_group_of_one_has_one_term():
    assert asyncio.run(Member(Scripted(), "controllers", "c1", ()).term(soon())) == 1


def test_answers_that_are_none():
    assert parse_term(answer(b"{}")) is None
    assert parse_term(answer(b"[]")) is None
    for refused in (parse_leader, parse_epochs, parse_role):
        with pytest.raises(Definite):
            refused(answer(b"", 1))
    for garbled, code in ((parse_leader, 200), (parse_epochs, 0)):
        with pytest.raises(ProtocolError):
            garbled(answer(b"[]", code))
