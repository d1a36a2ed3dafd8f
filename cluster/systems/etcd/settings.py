"""The settings of etcd: which there are, what they may be, and what is promised under them. All of it is pure."""

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Promises
from cluster.systems._shared import routing
from cluster.versions import Release

GROUP: Final = "etcd"
"""What the Raft group is called in observations."""

FLAGS: Final = (
    "heartbeat-interval",
    "election-timeout",
    "pre-vote",
    "snapshot-count",
    "auto-compaction-mode",
    "auto-compaction-retention",
)
"""The flags of etcd that may be set; times in ms."""

_PRE_VOTE_SINCE: Final = (3, 5)
_FEWER_ENTRIES_SINCE: Final = (3, 6)

_OWN: Final = MappingProxyType(
    {
        "client.routing": "mixed",
        "client.routePollInterval": "1",
        "client.serializable": "false",
        "client.fencing": "true",
        "client.countFirst": "false",
        "client.lookBack": "0",
        "cluster.members": "3",
        "cluster.learners": "0",
        "process.GOMAXPROCS": "1",
        "build.gofail": "false",
        "gofail.failpoints": "",
    }
)
_WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "client.serializable": ("true", "false"),
        "client.fencing": ("true", "false"),
        "client.countFirst": ("true", "false"),
        "cluster.members": ("3", "5"),
        "cluster.learners": ("0", "1"),
        "build.gofail": ("true", "false"),
        "pre-vote": ("true", "false"),
        "auto-compaction-mode": ("periodic", "revision"),
    }
)
_NUMBERS: Final = ("heartbeat-interval", "election-timeout", "snapshot-count", "process.GOMAXPROCS")
_BEATS_LEAST: Final = 5
_ELECTION_MOST_MS: Final = 50_000

RECOVERS_WITHIN_S: Final = 15.0
"""Four times the longest time from a heal until every key had a write acknowledged, 3.5 s, rounded up."""
_COMPACTED: Final = "what was there before a change may have been compacted"
ELECTION_TIMEOUTS: Final[Mapping[str, int]] = {"true": 4, "false": 12}
"""By ``pre-vote``, so many of them until there is a leader again.

A member waits for one to two. Without pre-vote, one that lacks entries may stand first again and again, is refused, and
makes the others wait anew: of two members, each round elects one in about half of all cases (7 rounds were seen).
"""

HELP: Final[Mapping[str, str]] = {
    **routing.CLIENT_HELP,
    "client.serializable": "true: a member answers reads from its own copy, which may be old (default false)",
    "client.fencing": "false: a guarded write shows no token, so who lost the lock may write (default true)",
    "client.countFirst": "true: a client counts the holders of a semaphore and then takes a permit, so two may take "
    "the last one (default false)",
    "client.lookBack": "a transaction that writes registers also reads one of its keys as it was so many revisions "
    "before (default 0: it does not)",
    "cluster.members": "how many members there are: 3 (default) or 5",
    "cluster.learners": "1: a learner joins, which gets the log and has no vote (default 0)",
    "process.GOMAXPROCS": "how many processors a member uses at once (default 1: members share a small machine)",
    "build.gofail": "true: build etcd with its failpoints; each member serves them on port 22381 (default false)",
    "gofail.failpoints": "failpoints that are on from the start, as GOFAIL_FAILPOINTS has them: PACKAGE/NAME=TERMS;...",
    "heartbeat-interval": "ms between two heartbeats of the leader (default 100)",
    "election-timeout": "ms without a heartbeat after which a member stands for election (default 1000)",
    "pre-vote": "true: a member asks whether it could win before it stands for election (default true; in 3.4 false)",
    "snapshot-count": "entries of the log after which a snapshot is taken (default 10000; before 3.6 100000)",
    "auto-compaction-mode": "what auto-compaction-retention counts: periodic: time (default), or revision",
    "auto-compaction-retention": "how much history is kept, e.g. 5s or, of revisions, 1000 (default 0: all of it)",
}


def flags_of(release: Release) -> dict[str, str]:
    """The flags that may be set, with the defaults of a release."""
    return {
        "heartbeat-interval": "100",
        "election-timeout": "1000",
        "pre-vote": "true" if release >= _PRE_VOTE_SINCE else "false",
        "snapshot-count": "10000" if release >= _FEWER_ENTRIES_SINCE else "100000",
        "auto-compaction-mode": "periodic",
        "auto-compaction-retention": "0",
    }


def resolve(settings: Mapping[str, str], release: Release) -> dict[str, str]:
    """All settings, checked, with the defaults of a release filled in. Raises UsageError."""
    resolved = {**_OWN, **flags_of(release), **settings}
    for name, value in settings.items():
        _check(name, value)
    election, least = resolved["election-timeout"], _BEATS_LEAST * int(resolved["heartbeat-interval"])
    if not least <= int(election) <= _ELECTION_MOST_MS:
        right = f"from {least}, {_BEATS_LEAST} times heartbeat-interval, to {_ELECTION_MOST_MS}"
        raise UsageError(f"--set election-timeout={election}: {right}")
    retention = resolved["auto-compaction-retention"]
    if resolved["auto-compaction-mode"] == "revision" and not retention.isdecimal():
        raise UsageError(f"--set auto-compaction-retention={retention}: a whole number of revisions")
    if resolved["gofail.failpoints"] and resolved["build.gofail"] != "true":
        raise UsageError("--set gofail.failpoints: only a build with failpoints has them; add --set build.gofail=true")
    return resolved


def _check(name: str, value: str) -> None:
    """Check one setting by itself. Raises UsageError."""
    if name not in HELP:
        near = difflib.get_close_matches(name, HELP, n=1)
        guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(HELP)}"
        raise UsageError(f"--set {name}: etcd has no such setting here; {guess}")
    routing.check_client(name, value)
    words = _WORDS.get(name)
    if words is not None and value not in words:
        said = "true or false" if words == ("true", "false") else f"one of {', '.join(words)}"
        raise UsageError(f"--set {name}={value}: {said}")
    if name in _NUMBERS and not (value.isdecimal() and int(value) > 0):
        raise UsageError(f"--set {name}={value}: a whole number above 0")
    if name == "client.lookBack" and not value.isdecimal():
        raise UsageError(f"--set {name}={value}: a whole number of revisions")
    if name == "auto-compaction-retention" and not value.rstrip("smh").isdecimal():
        raise UsageError(f"--set {name}={value}: a time like 5s or 1h, or a whole number of revisions")


def promises(settings: Mapping[str, str]) -> Promises:
    """Everything that is checked, but what compaction takes. How soon it holds depends on the election timeout."""
    elected_s = ELECTION_TIMEOUTS[settings["pre-vote"]] * int(settings["election-timeout"]) / 1000
    within_s = RECOVERS_WITHIN_S + elected_s
    compacts = settings.get("auto-compaction-retention", "0") != "0"
    return Promises(
        allowed={"watch-wrong-previous": _COMPACTED} if compacts else {},
        recovers_within_s=within_s,
        rejoins_within_s=within_s,
        fails_over_after_s=elected_s,
        serves_without_minority_s=within_s,
        replicas_read=True,
    )
