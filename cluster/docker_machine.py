"""A container as a machine: killed, frozen and started through the engine, whatever runs in it.

The module refuses to start what runs on the host: that is for who knows it.
"""

from collections.abc import Callable

from cluster.agenthost import AgentHost
from cluster.docker_engine import Engine
from cluster.host import MachineState


class ContainerMachine:
    """Implements ``cluster.host.Machine``. ``settle`` meets the agent of a container that was started again."""

    def __init__(self, engine: Engine, container: str, host: AgentHost, settle: Callable[[AgentHost], None]) -> None:
        self._engine = engine
        self._container = container
        self._host = host
        self._settle = settle

    def kill(self) -> None:
        """See ``Machine.kill``: docker kill."""
        self._host.end_expected()
        with self._engine.doing(f"killing container {self._host.name}"):
            if self.state().running:
                self._engine.api.kill(self._container)
                self._engine.api.wait(self._container)

    def start(self) -> None:
        """See ``Machine.start``: docker start."""
        if self.state().running:
            return
        with self._engine.doing(f"starting container {self._host.name}"):
            self._engine.api.start(self._container)
        self._settle(self._host)

    def freeze(self) -> None:
        """See ``Machine.freeze``: docker pause."""
        with self._engine.doing(f"pausing container {self._host.name}"):
            if not self.state().frozen:
                self._engine.api.pause(self._container)

    def thaw(self) -> None:
        """See ``Machine.thaw``: docker unpause; a container that has ended has nothing to thaw."""
        with self._engine.doing(f"unpausing container {self._host.name}"):
            if self.state().frozen:
                self._engine.api.unpause(self._container)

    def state(self) -> MachineState:
        """See ``Machine.state``: what the engine says."""
        with self._engine.doing(f"looking at container {self._host.name}"):
            said = self._engine.api.inspect_container(self._container)["State"]
        return MachineState(bool(said["Running"]), bool(said["Paused"]), str(said["StartedAt"]))
