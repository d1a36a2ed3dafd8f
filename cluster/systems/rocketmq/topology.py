"""Which RocketMQ is brought up: its mode, its nodes, and where its topic is made.

The settings ``cluster.KEY`` are the harness' own; RocketMQ knows none of them. The module is pure: it reads and checks
them, and refuses what no RocketMQ can be.
"""

from collections.abc import Mapping
from typing import Final, Literal, cast, get_args

import msgspec

from chaos.core.errors import UsageError

Mode = Literal["controller", "master-slave", "dledger"]
ControllerType = Literal["DLedger", "jRaft"]

MODES: Final[tuple[str, ...]] = get_args(Mode)
MOST: Final = 5

HELP: Final[Mapping[str, str]] = {
    "cluster.mode": "controller (default): controllers elect the master of the replica group; master-slave: one master "
    "for ever, no failover; dledger: brokers whose commit log is a Raft log",
    "cluster.controllerType": "DLedger (default) or jRaft: how the controllers agree (mode controller)",
    "cluster.controllers": "how many controllers: 1 to 5, default 3; 0 in the modes that have none",
    "cluster.controllerIn": "own (default): controllers are nodes of their own; namesrv: each is inside a name server",
    "cluster.brokers": "replicas of the one group: 2, 3 (default) or 5; dledger takes 3 or 5",
    "cluster.namesrvs": "how many name servers: 1 (default) to 5; with controllerIn=namesrv as many as controllers",
    "cluster.topicOn": "every (default): the topic is made on every replica; master: on the master alone, as is usual, "
    "and how replicas come to know it is RocketMQ's business",
}

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "cluster.mode": MODES,
    "cluster.controllerType": get_args(ControllerType),
    "cluster.controllers": tuple(str(number) for number in range(MOST + 1)),
    "cluster.controllerIn": ("own", "namesrv"),
    "cluster.brokers": ("2", "3", "5"),
    "cluster.namesrvs": tuple(str(number) for number in range(1, MOST + 1)),
    "cluster.topicOn": ("every", "master"),
}


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster as it was asked for. ``controllers_inside``: they run in the name servers' processes."""

    mode: Mode
    controller_type: ControllerType
    controllers: int
    controllers_inside: bool
    brokers: int
    namesrvs: int
    topic_on_every: bool

    @property
    def fails_over(self) -> bool:
        """Whether another replica can become master."""
        return self.mode != "master-slave"


def resolve_cluster(given: Mapping[str, str]) -> dict[str, str]:
    """The ``cluster.…`` settings among ``given``, checked, with defaults for the others; all the rest is left out.

    Raises:
        UsageError: an impossible value, or one that its mode does not have.
    """
    own = {name: value for name, value in given.items() if name in HELP}
    for name, value in own.items():
        if value not in _CHOICES[name]:
            raise UsageError(f"--set {name}={value}: one of {', '.join(_CHOICES[name])}")
    mode = own.get("cluster.mode", "controller")
    out = {"cluster.mode": mode, "cluster.brokers": "3", "cluster.topicOn": "every"}
    if mode == "controller":
        out |= {"cluster.controllerType": "DLedger", "cluster.controllers": "3", "cluster.controllerIn": "own"}
    else:
        out["cluster.controllers"] = "0"
    out |= own
    inside = out.get("cluster.controllerIn") == "namesrv"
    out.setdefault("cluster.namesrvs", out["cluster.controllers"] if inside else "1")
    _check(out, inside=inside)
    return out


def _check(out: Mapping[str, str], *, inside: bool) -> None:
    mode, controllers = out["cluster.mode"], out["cluster.controllers"]
    if mode == "controller" and controllers == "0":
        raise UsageError("--set cluster.controllers=0: mode controller needs at least one; or set cluster.mode")
    if mode != "controller":
        if controllers != "0":
            raise UsageError(f"--set cluster.controllers={controllers}: mode {mode} has no controllers; leave it out")
        for name in ("cluster.controllerType", "cluster.controllerIn"):
            if name in out:
                raise UsageError(f"--set {name}={out[name]}: mode {mode} has no controllers; leave it out")
    if mode == "dledger" and out["cluster.brokers"] == "2":
        raise UsageError("--set cluster.brokers=2: a DLedger group of two survives nobody; take 3 or 5")
    if inside and out["cluster.namesrvs"] != controllers:
        raise UsageError(
            f"--set cluster.namesrvs={out['cluster.namesrvs']}: with controllerIn=namesrv there are as many as "
            f"controllers, {controllers}; leave it out"
        )


def of(settings: Mapping[str, str]) -> Shape:
    """The cluster that these settings ask for; they need not be resolved. Raises as ``resolve_cluster``."""
    own = resolve_cluster(settings)
    return Shape(
        mode=cast("Mode", own["cluster.mode"]),
        controller_type=cast("ControllerType", own.get("cluster.controllerType", "DLedger")),
        controllers=int(own["cluster.controllers"]),
        controllers_inside=own.get("cluster.controllerIn") == "namesrv",
        brokers=int(own["cluster.brokers"]),
        namesrvs=int(own["cluster.namesrvs"]),
        topic_on_every=own["cluster.topicOn"] == "every",
    )
