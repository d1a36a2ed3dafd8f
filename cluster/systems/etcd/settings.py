"""The settings of etcd: which there are, what they may be, and what is promised under them. All of it is pure."""

import difflib
from collections.abc import Mapping
from typing import Final

from chaos.core.errors import UsageError
from chaos.core.runinfo import Promises
from cluster.systems._shared import routing

GROUP: Final = "etcd"
"""What the Raft group is called in observations."""

FLAGS: Final[Mapping[str, str]] = {
    "heartbeat-interval": "100",
    "election-timeout": "1000",
    "pre-vote": "false",
    "snapshot-count": "100000",
}
"""The flags of etcd that may be set, with the defaults of 3.4; times in ms."""

_OWN: Final = {"client.routing": "mixed", "client.routePollInterval": "1", "client.serializable": "false"}
_SWITCHES: Final = ("client.serializable", "pre-vote")
_BEATS_LEAST: Final = 5
_ELECTION_MOST_MS: Final = 50_000

RECOVERS_WITHIN_S: Final = 15.0
"""Four times the longest time from a heal until every key had a write acknowledged, 3.5 s, rounded up."""
ELECTION_TIMEOUTS: Final[Mapping[str, int]] = {"true": 4, "false": 12}
"""By ``pre-vote``, so many of them until there is a leader again.

A member waits for one to two. Without pre-vote, one that lacks entries may stand first again and again, is refused, and
makes the others wait anew: of two members, each round elects one in about half of all cases (7 rounds were seen).
"""

HELP: Final[Mapping[str, str]] = {
    **routing.CLIENT_HELP,
    "client.serializable": "true: a member answers reads from its own copy, which may be old (default false)",
    "heartbeat-interval": "ms between two heartbeats of the leader (default 100)",
    "election-timeout": "ms without a heartbeat after which a member stands for election (default 1000)",
    "pre-vote": "true: a member asks whether it could win before it stands for election (default false)",
    "snapshot-count": "entries of the log after which a snapshot is taken (default 100000)",
}


def resolve(settings: Mapping[str, str]) -> dict[str, str]:
    """All settings, checked, with the defaults filled in. Raises UsageError."""
    resolved = {**_OWN, **FLAGS, **settings}
    for name, value in settings.items():
        if name not in HELP:
            near = difflib.get_close_matches(name, HELP, n=1)
            guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(HELP)}"
            raise UsageError(f"--set {name}: etcd has no such setting here; {guess}")
        routing.check_client(name, value)
        if name in _SWITCHES and value not in ("true", "false"):
            raise UsageError(f"--set {name}={value}: true or false")
        if name in FLAGS and name not in _SWITCHES and not (value.isdecimal() and int(value) > 0):
            raise UsageError(f"--set {name}={value}: a whole number above 0")
    election, least = resolved["election-timeout"], _BEATS_LEAST * int(resolved["heartbeat-interval"])
    if not least <= int(election) <= _ELECTION_MOST_MS:
        right = f"from {least}, {_BEATS_LEAST} times heartbeat-interval, to {_ELECTION_MOST_MS}"
        raise UsageError(f"--set election-timeout={election}: {right}")
    return resolved


def promises(settings: Mapping[str, str]) -> Promises:
    """Everything that is checked: nothing is by design. How soon it holds depends on the election timeout."""
    elected_s = ELECTION_TIMEOUTS[settings["pre-vote"]] * int(settings["election-timeout"]) / 1000
    within_s = RECOVERS_WITHIN_S + elected_s
    return Promises(recovers_within_s=within_s, rejoins_within_s=within_s, fails_over_after_s=elected_s)
