"""minimq's admin interface: its nodes are started again with other settings, and say by which they go.

Settings are asked of each node by its own protocol, from a host of the cluster's network.
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from chaos.core.errors import DeployError
from cluster.admin import CHANGE_SETTING
from cluster.host import Host
from cluster.system import ClusterView
from cluster.systems.minimq import settings
from cluster.systems.minimq.clients import exchange_program
from cluster.systems.minimq.protocol.messages import GetSettings, Settings
from cluster.systems.minimq.protocol.wire import PORT, Back, Call, Hello, frame

ACTIONS: Final[Mapping[str, str]] = MappingProxyType({CHANGE_SETTING: "a restart with another configuration file"})

_PROGRAM: Final = Path(exchange_program.__file__)
_ASK_S: Final = 2.0
_START_S: Final = 10.0
"""For the program to start on a busy machine."""
_QUESTION: Final = frame(Hello()) + frame(Call(1, GetSettings()))


class MiniMQAdmin:
    """Asks the nodes of one cluster. Implements ``cluster.admin.TellsSettings``."""

    def __init__(self, view: ClusterView, host: Host) -> None:
        self._nodes = {node.name: node for node in view.nodes}
        self._host = host

    def settings_of(self, node: str) -> Mapping[str, str]:
        """See ``TellsSettings``."""
        orders = {
            "host": self._nodes[node].address,
            "port": PORT,
            "send": base64.b64encode(_QUESTION).decode(),
            "timeout_s": _ASK_S,
        }
        argv = ("python3", "-I", "-S", "-", msgspec.json.encode(orders).decode())
        done = self._host.run(*argv, stdin=_PROGRAM.read_bytes(), timeout_s=_START_S + 2 * _ASK_S)
        return settings_in(node, self._nodes[node].role, base64.b64decode(done.check(f"asking {node}").stdout))


def settings_in(node: str, role: str, answer: bytes) -> Mapping[str, str]:
    """Pure: the settings in a node's answer, by full name. Raises DeployError: it is another answer."""
    try:
        back = msgspec.msgpack.decode(answer, type=Back)
        if isinstance(back.body, Settings):
            return settings.in_effect(role, back.body)
    except msgspec.DecodeError as error:
        raise DeployError(f"{node} said what nobody expects: {error}") from None
    raise DeployError(f"{node} does not say its settings: {type(back.body).__name__}")
