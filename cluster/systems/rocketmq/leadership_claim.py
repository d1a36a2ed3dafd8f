"""Whether a broker takes itself for the master, and of which epoch, in each mode.

Clients ask before and after a strong read, observers once a period; only the broker's own word counts, since there are
no leases. Does not combine what several nodes say.
"""

from typing import Final

import msgspec

from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.dledger import Member
from cluster.systems.rocketmq.outcomes import require_success
from cluster.systems.rocketmq.protocol import Answer, ProtocolError, Request
from cluster.systems.rocketmq.topology import Mode

_FOR_EVER: Final = 1
"""The epoch of a master that nobody can replace."""


class LeadershipClaim(msgspec.Struct, frozen=True):
    """What a broker says of itself. ``epoch``: of the newest part of its log (None: no log yet, or not said).

    ``follows``: whom it takes for the leader, where a broker knows that (mode dledger).
    """

    master: bool
    epoch: int | None
    follows: str | None = None


class _Epoch(msgspec.Struct):
    epoch: int


class _EpochCache(msgspec.Struct):
    brokerId: int  # noqa: N815 - the protocol's spelling
    epochList: list[_Epoch] = []  # noqa: N815


_decode_epochs = msgspec.json.Decoder(_EpochCache).decode


def parse_epochs(answer: Answer) -> LeadershipClaim:
    """What GET_BROKER_EPOCH_CACHE answered, which only controller mode knows.

    Raises:
        Definite: the broker refused.
        ProtocolError: the answer does not parse.
    """
    require_success(answer)
    try:
        cache = _decode_epochs(answer.body)
    except msgspec.DecodeError:
        raise ProtocolError("epoch cache that does not parse") from None
    # A broker's id is 0 exactly while it takes itself for the master.
    return LeadershipClaim(cache.brokerId == 0, cache.epochList[-1].epoch if cache.epochList else None)


def parse_role(answer: Answer) -> bool:
    """Whether the broker is master, from EXCHANGE_BROKER_HA_INFO without an address: only a master names its own.

    Raises:
        Definite: the broker refused.
    """
    require_success(answer)
    return bool(answer.fields.get("masterAddress"))


async def fetch_claim(
    link: Link, deadline_ns: int, mode: Mode = "controller", name: str = "", member: Member | None = None
) -> LeadershipClaim:
    """Ask a broker. In mode dledger ``name`` is its own and ``member`` the way to its Raft log.

    There a broker is master once it leads its group and has applied what its group had agreed on.

    Raises:
        Definite: it refused or could not be reached. Indefinite: no answer.
        ProtocolError: the answer does not parse.
    """
    if mode == "controller":
        return parse_epochs(await link.request(Request.GET_BROKER_EPOCH_CACHE, {}, deadline_ns))
    master = parse_role(await link.request(Request.EXCHANGE_BROKER_HA_INFO, {}, deadline_ns))
    if mode == "master-slave":
        return LeadershipClaim(master, _FOR_EVER if master else None)
    assert member is not None, "mode dledger has a member for every broker"
    leads = await member.leadership(deadline_ns)
    return LeadershipClaim(master and leads.leader == name, leads.term, leads.leader)
