"""How each node is started: pure functions from settings and topology to files and command lines.

Does not touch a host; ``cluster.nodes.process`` starts what is described here.
"""

import sys
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from chaos.basics.rand import run_hash
from chaos.core.errors import UsageError
from chaos.storage.runinfo import NodeInfo, Subject
from cluster.host import NodeSpec
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch, RoleKind
from cluster.systems.minimq import settings as keys
from cluster.systems.minimq.protocol import groups
from cluster.systems.minimq.protocol.wire import PORT
from cluster.systems.minimq.server.node_config import NodeConfig

VERSION: Final = "0.1.0"
ROLES: Final[Mapping[str, RoleKind]] = {"controller": "controller", "broker": "replica"}
CONTROLLERS: Final = "controller"
"""What the controllers are called in observations."""
EACH: Final = 3
"""Controllers, and brokers of a group."""
PROGRESS_MARGIN_S: Final = 2.0
"""Three times the longest silence without any fault, at least two seconds (docs/results/progress.md)."""
RECOVERS_WITHIN_S: Final = 30.0
"""Four times the longest time from a heal to the next acknowledgement in the stored runs, 5.4 s, rounded up."""

ELECTED_WITHIN_S: Final = 2.0
"""Once the controllers take a master for dead another is elected within milliseconds; the rest is for busy machines."""
PYTHON: Final = f"python{sys.version_info.major}.{sys.version_info.minor}"
"""A host's own, of the harness' release: the compiled part of msgspec fits no other."""

NODE_MODULE: Final = "cluster.systems.minimq.server.node"
"""What a node's process runs, and is known by among others."""

_CONFIG: Final = "node.json"
_DATA: Final = "data"


def topology(number: int = 1) -> tuple[NodeSpec, ...]:
    """Three controllers, and three brokers for each of so many groups."""
    counts = {"controller": EACH, "broker": EACH * number}
    named = [(f"{role[0]}{i}", role) for role in ROLES for i in range(1, counts[role] + 1)]
    return tuple(NodeSpec(name=name, role=role, programs=(PYTHON,)) for name, role in named)


def group_count(settings: Mapping[str, str]) -> int:
    """How many replica groups there are."""
    return int(settings.get("cluster.groups", "1"))


def subjects(settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
    """The replica groups, each with its queues, and the controllers."""
    number = group_count(settings)
    nodes = {role: tuple(spec.name for spec in topology(number) if spec.role == role) for role in ROLES}
    led = [
        Subject(
            name=name,
            nodes=brokers,
            keys=None if number == 1 else tuple(key for key in range(keys) if groups.owns(name, key, number)),
        )
        for name, brokers in groups.members(nodes["broker"], number).items()
    ]
    return (*led, Subject(name=CONTROLLERS, kind="controller", nodes=nodes["controller"]))


def group_of(node: NodeInfo, view: ClusterView) -> str:
    """The group of a broker; of a controller the first."""
    own = groups.members([each.name for each in view.of_role("broker")], group_count(view.settings))
    return next((name for name, brokers in own.items() if node.name in brokers), next(iter(own)))


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How ``node`` is started in ``home`` with the modules of ``artefacts``.

    Raises:
        UsageError: a role that this system does not have.
    """
    role: Literal["controller", "broker"]
    if node.role == "controller":
        role = "controller"
    elif node.role == "broker":
        role = "broker"
    else:
        raise UsageError(f"node {node.name}: minimq has no role {node.role}; it has {', '.join(ROLES)}")
    told = NodeConfig(
        name=node.name,
        role=role,
        listen=node.address,
        port=PORT,
        controllers=tuple(each.name for each in view.of_role("controller")),
        brokers=tuple(each.name for each in view.of_role("broker")),
        addresses={each.name: each.address for each in view.nodes},
        data=f"{home}/{_DATA}",
        broker=keys.broker_settings(view.settings),
        controller=keys.controller_settings(view.settings),
        group=group_of(node, view),
        segment_bytes=int(view.settings["broker.segmentBytes"]),
        bug=view.settings["bug"] or None,
        bug_share=float(view.settings["bugShare"]),
        seed=run_hash(view.run_id),
    )
    return Launch(
        # No site: a node needs the standard library and what PYTHONPATH names, and starts in half the time.
        argv=(PYTHON, "-S", "-P", "-m", NODE_MODULE, f"{home}/{_CONFIG}"),
        env={"PYTHONPATH": artefacts, "PYTHONUNBUFFERED": "1", "HOME": home},
        files={_CONFIG: msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n"},
        ready_pattern=r"\bready\b",
        logs=(_CONFIG, STDOUT),
        data=(_DATA,),
    )
