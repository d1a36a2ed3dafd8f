"""Restart processes one after the other, as an operator does who changes a setting: the next once one serves again."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from cluster.nodes.process_state import ProcState
from nemesis.faults.background import Background
from nemesis.faults.fault import Fact, Fault, Scene
from nemesis.faults.processes.restart import Restart

Pause = Annotated[
    float, Meta(ge=0, le=60, description="how long to wait after one serves, before the next", extra={"unit": "s"})
]


class RollingRestartParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it goes."""

    pause_s: Pause = 0.5


class RollingRestart(Restart):
    """The targets in their order; what the row's end overtakes is not restarted, and the fault then not proven."""

    name: ClassVar[str] = "rolling-restart"
    verb: ClassVar[str] = "restarted one by one"
    help: ClassVar[str] = "restart {} one after the other, the next once the one before serves again"
    Params: ClassVar[type[msgspec.Struct]] = RollingRestartParams
    in_all: ClassVar[bool] = False
    least_s: ClassVar[float] = 5.0
    colour: ClassVar[Colour] = "brown"
    container: ClassVar[type[Fault] | None] = None

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._round = Background("rolling restart")

    def act(self) -> None:
        """Restart the first one, and go on with the others."""
        first, *others = self.nodes
        self._restart(first)

        def rest() -> None:
            done = first
            for name in others:
                self._restarts.bring_back(self.nodes[done])
                if self._round.sleep(self.params.pause_s):
                    return
                self._restart(name)
                done = name

        self._round.start(rest)

    def _restart(self, name: str) -> None:
        self.remember(self.nodes[name])
        self._act_on(self.nodes[name])

    def verify(self) -> Evidence:
        """The first one is another process now."""
        first = next(iter(self.nodes))
        return self.look(lambda name, now: self._another(name, now, "") if name == first else (True, "is to follow"))

    def verify_still(self) -> Evidence:
        """Each is another process."""
        return self.look(self._restarted)

    def _restarted(self, name: str, now: ProcState) -> Fact:
        if name not in self.before:
            return False, f"was not restarted before the fault's end{self._round.failed and f': {self._round.failed}'}"
        return self._another(name, now, f"pid {self.before[name].pid} {self._ended.get(name, '')}, ")

    def heal(self) -> None:
        """Restart no further one, and wait until all serve."""
        self._round.end(self._wait_s)
        super().heal()
