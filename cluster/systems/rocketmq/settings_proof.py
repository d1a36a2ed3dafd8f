"""Settings proven to be in effect: what each node says its configuration is, against what it was started with.

RocketMQ ignores a key that it does not know and a value that it cannot parse, without a word; and some switches it
takes, shows, and does not act by. Pure: parsing, comparing, and the note that goes into the history. Does not call a
switch proven because a node shows it, where the node can be asked for its effect.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from chaos.core.errors import DeployError
from chaos.storage.runinfo import NodeInfo
from cluster.system import ClusterView
from cluster.systems.rocketmq import config, promises, topology
from cluster.systems.rocketmq import settings as keys
from cluster.systems.rocketmq.outcomes import require_success
from cluster.systems.rocketmq.protocol import Answer, ProtocolError, Request

SWITCHES: Final = (
    "transientStorePoolEnable",
    "slaveReadEnable",
    "minInSyncReplicas",
    "inSyncReplicas",
    "allAckInSyncStateSet",
    "enableElectUncleanMaster",
    "flushDiskType",
    "brokerRole",
    "controllerType",
    "enableControllerMode",
    "enableDLegerCommitLog",
    "timerWheelEnable",
    "totalReplicas",
)
"""Those that decide what is promised, named one by one in the note, with what each node says, set or not."""

_MOVED: Final = frozenset({"brokerId", "brokerRole", "configStorePath", "listenPort"})
"""Wiring that a node changes by itself: who is master, and where two servers of one process share a file."""

_NO_POOL: Final = str(2**31 - 1)
"""How many buffers are left in a pool that is not there."""


class Question(NamedTuple):
    """One thing to ask a node for its configuration: with ``code``; it answers for ``component``."""

    code: Request
    component: str


class Shown(NamedTuple):
    """What one node said: key → value; ``pool``: whether messages are buffered outside the page cache, if asked."""

    values: Mapping[str, str]
    pool: bool | None


def questions(node: NodeInfo, view: ClusterView) -> tuple[Question, ...]:
    """What a node must be asked: a controller inside a name server is two."""
    out = []
    if node in config.name_servers(view):
        out.append(Question(Request.GET_NAMESRV_CONFIG, "namesrv"))
    if node.role == "controller":
        out.append(Question(Request.GET_CONTROLLER_CONFIG, "controller"))
    if node.role == "broker":
        out.append(Question(Request.GET_BROKER_CONFIG, "broker"))
    return tuple(out)


def parse_config(answer: Answer) -> dict[str, str]:
    """A configuration as nodes write it: ``key=value``, a line each.

    Raises:
        Definite: the node refused.
        ProtocolError: the answer is not text.
    """
    require_success(answer)
    try:
        lines = answer.body.decode().splitlines()
    except UnicodeDecodeError:
        raise ProtocolError("a configuration that is no text") from None
    pairs = (line.partition("=") for line in lines)
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def parse_pool(answer: Answer) -> bool:
    """Whether GET_BROKER_RUNTIME_INFO tells of a pool of buffers outside the page cache.

    Raises:
        Definite: the broker refused.
        ProtocolError: the answer does not parse.
    """
    require_success(answer)
    try:
        table = msgspec.json.decode(answer.body, type=dict[str, dict[str, str]])["table"]
        return table["remainTransientStoreBufferNumbs"] != _NO_POOL
    except (msgspec.DecodeError, KeyError):
        raise ProtocolError("runtime information that does not parse") from None


def required_settings(node: NodeInfo, component: str, view: ClusterView) -> dict[str, str]:
    """What a node must show: the settings of the component, and the wiring that it cannot change."""
    wiring = config.wiring(node, "", view)
    mine = {key: value for key, value in wiring.items() if key in keys.known_keys()[component]}
    mine = {key: value for key, value in mine.items() if key not in _MOVED and not key.startswith("storePath")}
    settings = keys.of_component(view.settings, component)
    if component == "broker" and wiring.get("brokerRole"):
        settings.pop("brokerRole", None)  # the master's
    return {**settings, **{key: value for key, value in mine.items() if "StorePath" not in key}}


def differences(node: str, want: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """One line for each key that is not in effect as it was set."""
    return [
        f"{node}: {key} was set to {value} and is {found.get(key, 'not known to it')}"
        for key, value in sorted(want.items())
        if not is_same_value(value, found.get(key))
    ]


def is_same_value(value: str, found: str | None) -> bool:
    """Whether two values of a setting mean the same."""
    if found is None or value == found:
        return value == found
    try:
        return float(value) == float(found)  # 0.5 and 0.50
    except ValueError:
        return False


def effects_note(shown: Mapping[str, Mapping[str, Shown]], view: ClusterView) -> tuple[str, dict[str, object]]:
    """The text and the data of the note: how many settings were proven, each switch, and what has no effect.

    ``shown``: node → component → what it said.

    Raises:
        DeployError: a setting is not in effect; names node, key, wanted and found.
    """
    proven = 0
    wrong: list[str] = []
    for node in view.nodes:
        for component, one in shown.get(node.name, {}).items():
            want = required_settings(node, component, view)
            wrong += differences(node.name, want, one.values)
            proven += len(want)
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise DeployError(f"settings are not in effect: {wrong[0]}{more}; see nodes/*/node.conf and the nodes' logs")
    text = f"{proven} settings proven to be in effect on {len(shown)} nodes"
    said, data = consequences(shown, view)
    return text + said, data


def consequences(shown: Mapping[str, Mapping[str, Shown]], view: ClusterView) -> tuple[str, dict[str, object]]:
    """What follows of the settings in effect: what has none, what gives safety up, and each switch as nodes show it."""
    switches: dict[str, dict[str, str]] = {}
    for node, of in shown.items():
        for component, one in of.items():
            for key in SWITCHES:
                if key in one.values and key in keys.known_keys()[component]:
                    switches.setdefault(key, {})[node] = one.values[key]
    ignored = {**promises.without_effect(view.settings), **_without_pool(shown, view)}
    text = "".join(f"; {name} has no effect: {why}" for name, why in sorted(ignored.items()))
    danger = promises.unsafe_setting(view.settings)
    text += f"; {danger} gives safety up, and no loss is excused by that" if danger else ""
    data = {"switches": switches, "without_effect": ignored, "unsafe": danger, "warning": bool(ignored or danger)}
    return text, data


def _without_pool(shown: Mapping[str, Mapping[str, Shown]], view: ClusterView) -> dict[str, str]:
    """Brokers that were told to buffer outside the page cache, show it, and have no buffers."""
    name = "broker.transientStorePoolEnable"
    if view.settings.get(name) != "true" or name in promises.without_effect(view.settings):
        return {}
    without = [node for node, of in shown.items() if "broker" in of and of["broker"].pool is False]
    if not without:
        return {}
    why = (
        "a slave has no pool of buffers" if topology.of(view.settings).mode == "master-slave" else "no pool of buffers"
    )
    return {name: f"{_listed(without)}: {why}"}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names))
