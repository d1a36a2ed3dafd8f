"""What each server itself holds: the run's keys, and Redis' digest of everything, at one offset of the replication.

Offset, digest and keys are asked for in one transaction, so they belong together. Masters go on telling replicas of
things that no client wrote (pings, the sentinels' words), so offsets are seldom equal for longer than a moment. A key
that expires is left to the digest: a replica keeps it until its master says that it is gone, and shows it no more.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import now_ns, ns_from_now
from chaos.core.replica_data import ReplicaData
from chaos.storage.runinfo import Subject
from cluster.system import ClusterView
from cluster.systems.redis import slots
from cluster.systems.redis.probe import subjects
from cluster.systems.redis.resp import Refusal, Reply
from cluster.systems.redis.servers import Servers, info

DIGEST: Final = "DEBUG DIGEST"
CONTENTS: Final = (
    "local out, call = {}, redis.call"
    " for i, key in ipairs(KEYS) do local kind, text, all = call('TYPE', key).ok, nil, {}"
    " if call('PTTL', key) ~= -1 then kind, text = 'none', ''"
    " elseif kind == 'string' then text = call('GET', key)"
    " elseif kind == 'list' then all = call('LRANGE', key, 0, -1)"
    " elseif kind == 'set' then all = call('SMEMBERS', key) table.sort(all)"
    " elseif kind == 'zset' then all = call('ZRANGE', key, 0, -1, 'WITHSCORES')"
    " elseif kind == 'stream' then for j, entry in ipairs(call('XRANGE', key, '-', '+')) do"
    " all[j] = entry[1] .. ' ' .. table.concat(entry[2], ' ') end"
    " else text = kind end"
    " text = text or kind .. ' of ' .. #all .. ': ' .. table.concat(all, ' ')"
    " if #text > 80 then text = text:sub(1, 60) .. '... (' .. redis.sha1hex(text):sub(1, 12) .. ')' end"
    " out[i] = {kind, text} end return out"
)
"""By key its kind and what it holds, a long content by its beginning and a digest; of a key that expires nothing."""

_ASK_S: Final = 5.0
_PAUSE_S: Final = 0.2
_SCAN_COUNT: Final = 1000
_TWO: Final = 2
_NO_DIGEST: Final = ("ERR DEBUG command not allowed", "NOPERM")


class Copy(NamedTuple):
    """What a server says. ``history``: the number of the replication that its offset is one of."""

    data: ReplicaData
    history: str = ""
    leads: bool = False


class RedisReplicas:
    """Implements ``cluster.system.ReplicaReader``. Servers of a shard are equally far at one offset of one history."""

    def __init__(self, view: ClusterView) -> None:
        self._mark = view.mark
        self._cluster = view.settings["cluster.mode"] == "cluster"
        self._nodes = Servers(view)
        self._subjects = subjects(self._nodes.servers, view.settings["cluster.mode"], view.keys)
        self._no_digest: set[str] = set()

    async def read(self, timeout_s: float) -> tuple[ReplicaData, ...]:
        """See ``ReplicaReader.read``: shard by shard, once its servers are at one offset. One server has no equal."""
        until_ns = ns_from_now(timeout_s)
        shared = [(shard, one) for shard, one in enumerate(self._subjects) if len(one.nodes) >= _TWO]
        found = await asyncio.gather(*(self._of_shard(shard, one, until_ns) for shard, one in shared))
        return tuple(one for of_shard in found for one in of_shard)

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._nodes.close()

    async def _of_shard(self, shard: int, subject: Subject, until_ns: int) -> list[ReplicaData]:
        """What the servers of a shard hold."""
        tag = f"{{{slots.TAGS[shard]}}}/" if self._cluster else ""
        while True:
            named = await asyncio.gather(*(self._keys(name, f"{tag}{self._mark}/*") for name in subject.nodes))
            keys = sorted({key for keys in named for key in keys})
            copies = await asyncio.gather(*(self._copy(name, subject.name, keys) for name in subject.nodes))
            found = of_one_history(copies)
            still = len({one.position for one in found}) == 1 and not any(one.error for one in found)
            if still or now_ns() >= until_ns:
                return found
            await asyncio.sleep(_PAUSE_S)

    async def _keys(self, name: str, pattern: str) -> list[str]:
        """The run's keys that a server has; none if it does not say, for then it says no more of what they hold."""
        keys: list[str] = []
        cursor, deadline_ns = "0", ns_from_now(_ASK_S)
        try:
            while True:
                scan = ("SCAN", cursor, "MATCH", pattern, "COUNT", _SCAN_COUNT)
                (reply,) = await self._nodes.links[name].call(scan, deadline_ns=deadline_ns)
                if not isinstance(reply, list) or len(reply) != _TWO or not isinstance(reply[1], list):
                    return []
                cursor = str(reply[0])
                keys += map(str, reply[1])
                if cursor == "0":
                    return keys
        except (Definite, Indefinite):
            return []

    async def _copy(self, name: str, subject: str, keys: Sequence[str]) -> Copy:
        """A server's offset, digest and contents, all of one moment."""
        try:
            while True:
                digest = name not in self._no_digest
                try:
                    return copy_of(name, subject, self._plain(keys), await self._moment(name, keys, digest=digest))
                except Definite as error:
                    if not (digest and str(error).startswith(_NO_DIGEST)):
                        raise
                    self._no_digest.add(name)
        except (Definite, Indefinite) as error:
            return Copy(ReplicaData(node=name, subject=subject, error=str(error)))

    async def _moment(self, name: str, keys: Sequence[str], *, digest: bool) -> Reply:
        """What a server replies to a transaction. Raises Definite or Indefinite."""
        commands: list[tuple[str | int, ...]] = [
            *([("READONLY",)] if self._cluster else []),  # else a replica of a cluster sends whoever asks to its master
            ("MULTI",),
            ("INFO", "replication"),
            *([("DEBUG", "DIGEST")] if digest else []),  # first: a master removes what has expired as it is looked at
            ("EVAL_RO", CONTENTS, len(keys), *keys),
            ("EXEC",),
        ]
        return (await self._nodes.links[name].call(*commands, deadline_ns=ns_from_now(_ASK_S)))[-1]

    def _plain(self, keys: Sequence[str]) -> list[str]:
        return [key.partition(f"{self._mark}/")[2] for key in keys]


def copy_of(node: str, subject: str, keys: Sequence[str], reply: Reply) -> Copy:
    """What a server says of itself by its reply to the transaction. Pure. Raises Definite if that is no answer."""
    replies = reply if isinstance(reply, list) else [reply]
    refused = next((one.text for one in replies if isinstance(one, Refusal)), None)
    if refused is not None:
        raise Definite(refused)
    try:
        said, digests, contents = info(replies[0]), replies[1:-1], replies[-1]
        leads = said["role"] == "master"
        position, history = int(said["master_repl_offset" if leads else "slave_repl_offset"]), said["master_replid"]
        entries = {key: str(text) for key, (kind, text) in zip(keys, _pairs(contents), strict=True) if kind != "none"}
    except (KeyError, IndexError, ValueError) as error:
        raise Definite(f"malformed answer: {error}") from None
    named = {DIGEST: str(digests[0])} if digests else {}
    data = ReplicaData(node=node, subject=subject, position=position, entries=entries, digests=named)
    return Copy(data, history, leads)


def of_one_history(copies: Sequence[Copy]) -> list[ReplicaData]:
    """The data of all; those whose offset is one of another history than that of most have none to compare. Pure."""
    said = [one for one in copies if not one.data.error]
    votes = Counter(one.history for one in said)
    led = {one.history for one in said if one.leads}
    history = max(votes, key=lambda one: (votes[one], one in led), default="")
    return [
        one.data
        if one.data.error or one.history == history
        else ReplicaData(
            node=one.data.node, subject=one.data.subject, error=f"its replication is another one: {one.history[:12]}"
        )
        for one in copies
    ]


def _pairs(reply: Reply) -> list[tuple[str, str]]:
    """Kinds and contents. Raises ValueError if it is not that."""
    if not isinstance(reply, list):
        raise ValueError(f"{str(reply)[:60]} is no list")  # noqa: TRY004 - what a server says
    out = []
    for one in reply:
        if not isinstance(one, list) or len(one) != _TWO:
            raise ValueError(f"{str(one)[:60]} is no content")
        out.append((str(one[0]), str(one[1])))
    return out
