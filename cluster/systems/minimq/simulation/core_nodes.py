"""minimq in simulated time: its cores as nodes of ``cluster.simulation``, and what carries out their effects."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from cluster.simulation.core import Birth, Surroundings
from cluster.systems.minimq.bugs import switches
from cluster.systems.minimq.protocol.broker_messages import Rejected
from cluster.systems.minimq.protocol.io import (
    CancelTimer,
    ClientRequest,
    Effect,
    Event,
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
from cluster.systems.minimq.server import node_config
from cluster.systems.minimq.server.build import build
from cluster.systems.minimq.server.node_config import NodeConfig

CONFIG: Final = "node.json"


class CoreNode:
    """One life of a core; implements ``cluster.simulation.core.SimulatedNode`` and ``KeepsFiles``.

    Tokens of a core ascend by one, so the number of durable writes is the token of the last.
    """

    def __init__(self, birth: Birth, around: Surroundings) -> None:
        self.config = msgspec.json.decode(birth.files[CONFIG], type=NodeConfig)
        bug, share, seed = self.config.bug, self.config.bug_share, birth.seed.partition("/")[0]
        switches.have_on(switches.Switch(bug, share, seed) if bug is not None else None)
        folder = Path(self.config.data)
        birth.disk.make_folder(folder)
        self.core, self._store = build(self.config, folder, birth.seed, birth.disk)
        self._around = around
        self._bent = bug is not None
        self._refuses = self.config.role == "controller"
        self._acts: dict[type[Effect], Any] = {
            Send: lambda effect: around.send(effect.to, effect.body),
            Reply: lambda effect: around.answer(int(effect.id), effect.body),
            Write: around.write,
            Truncate: around.write,
            SetTimer: lambda effect: around.set_timer(effect.name, effect.delay_ms),
            CancelTimer: lambda effect: around.cancel_timer(effect.name),
        }

    def _handle(self, event: Event, now_ms: int) -> None:
        if self._bent:
            switches.have_clock(self._around.wall_ns)
        self._carry_out(self.core.handle(event, now_ms))

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
        self._handle(Message(sender=sender, body=body), now_ms)

    def on_request(self, request: int, body: Any, now_ms: int) -> None:
        """See ``SimulatedNode``; what a process answers beside its core is answered here."""
        if isinstance(body, GetSettings):
            self._around.answer(request, node_config.reported_settings(self.config))
        elif self._refuses and not isinstance(body, ControllerRequest):
            self._around.answer(request, Rejected(reason="bad-request"))
        else:
            self._handle(ClientRequest(id=str(request), body=body), now_ms)

    def on_timer(self, name: str, now_ms: int) -> None:
        """See ``SimulatedNode``."""
        self._handle(Timer(name=name), now_ms)

    def keep(self, records: Sequence[Any]) -> None:
        """See ``cluster.simulation.core.KeepsFiles``."""
        self._store.keep(records)

    def on_written(self, count: int, now_ms: int) -> None:
        """See ``SimulatedNode``."""
        self._handle(Written(token=count), now_ms)
