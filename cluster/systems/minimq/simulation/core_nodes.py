"""minimq in simulated time: its cores as nodes of ``cluster.simulation``, and what carries out their effects."""

from random import Random
from typing import Any, Final

import msgspec

from cluster.simulation.core import Birth, Surroundings
from cluster.systems.minimq.bugs import switches
from cluster.systems.minimq.consensus.controller import Controller
from cluster.systems.minimq.protocol.broker_messages import Rejected
from cluster.systems.minimq.protocol.io import (
    CancelTimer,
    ClientRequest,
    Effect,
    Message,
    Reply,
    Send,
    SetTimer,
    Timer,
    Truncate,
    Write,
    Written,
)
from cluster.systems.minimq.protocol.messages import ControllerRequest, GetSettings
from cluster.systems.minimq.replication.broker import Broker
from cluster.systems.minimq.server import node_config
from cluster.systems.minimq.server.node_config import NodeConfig
from cluster.systems.minimq.simulation.kept_files import kept_records, kept_state

CONFIG: Final = "node.json"


class CoreNode:
    """One life of a core; implements ``cluster.simulation.core.SimulatedNode``.

    Tokens of a core ascend by one, so the number of durable writes is the token of the last.
    """

    def __init__(self, birth: Birth, around: Surroundings) -> None:
        self.config = msgspec.json.decode(birth.files[CONFIG], type=NodeConfig)
        bug, share, seed = self.config.bug, self.config.bug_share, str(self.config.seed)
        switches.have_on(switches.Switch(bug, share, seed) if bug is not None else None)
        self.core = _core(self.config, birth)
        self._around = around
        self._bent = bug is not None
        self._refuses = self.config.role == "controller"
        self._acts: dict[type[Effect], Any] = {
            Send: lambda effect: around.send(effect.to, effect.body),
            Reply: lambda effect: around.answer(int(effect.id), effect.body),
            Write: lambda effect: around.write(effect.record),
            Truncate: around.write,
            SetTimer: lambda effect: around.set_timer(effect.name, effect.delay_ms),
            CancelTimer: lambda effect: around.cancel_timer(effect.name),
        }

    def _carry_out(self, effects: list[Effect]) -> None:
        acts = self._acts
        for effect in effects:
            acts[type(effect)](effect)
        if self._bent:
            for note in switches.take_notes():
                self._around.say(f"planted bug acted {note}")

    def start(self, now_ms: int) -> None:
        """See ``SimulatedNode``."""
        self._carry_out(self.core.start(now_ms))

    def on_message(self, sender: str, body: Any, now_ms: int) -> None:
        """See ``SimulatedNode``."""
        self._carry_out(self.core.handle(Message(sender=sender, body=body), now_ms))

    def on_request(self, request: int, body: Any, now_ms: int) -> None:
        """See ``SimulatedNode``; what a process answers beside its core is answered here."""
        if isinstance(body, GetSettings):
            self._around.answer(request, node_config.reported_settings(self.config))
        elif self._refuses and not isinstance(body, ControllerRequest):
            self._around.answer(request, Rejected(reason="bad-request"))
        else:
            self._carry_out(self.core.handle(ClientRequest(id=str(request), body=body), now_ms))

    def on_timer(self, name: str, now_ms: int) -> None:
        """See ``SimulatedNode``."""
        self._carry_out(self.core.handle(Timer(name=name), now_ms))

    def on_written(self, count: int, now_ms: int) -> None:
        """See ``SimulatedNode``."""
        self._carry_out(self.core.handle(Written(token=count), now_ms))


def _core(config: NodeConfig, birth: Birth) -> Broker | Controller:
    """The core with what its node has kept."""
    if config.role == "controller":
        return Controller(
            name=config.name,
            controllers=config.controllers,
            stored=kept_state(birth.kept, birth.seed),
            rng=Random(birth.seed),
            settings=config.controller,
        )
    records = kept_records(birth.kept, birth.seed)
    return Broker(config.name, config.controllers, f"{birth.life:012d}", config.broker, records, config.group)
