"""A container as a machine: killed, stopped, frozen, unplugged and started through the engine, whatever runs in it.

Does not start what runs on the host.
"""

from collections.abc import Callable

from cluster.host import MachineState
from cluster.hosts.agent_host import AgentHost
from cluster.hosts.docker.engine import Engine


class ContainerMachine:
    """Implements ``cluster.host.Machine``.

    ``network``: the id of its network. ``meet``: meets the agent of a container that was started again. ``settle``:
    does what every host needs once it is in its network.
    """

    def __init__(
        self,
        engine: Engine,
        container: str,
        network: str,
        host: AgentHost,
        meet: Callable[[AgentHost], None],
        settle: Callable[[AgentHost], None],
    ) -> None:
        self._engine = engine
        self._container = container
        self._network = network
        self._host = host
        self._meet = meet
        self._settle = settle

    def kill(self) -> None:
        """See ``Machine.kill``: docker kill."""
        self._host.end_expected()
        with self._engine.doing(f"killing container {self._host.name}"):
            if self.state().running:
                self._engine.api.kill(self._container)
                self._engine.api.wait(self._container)

    def stop(self, grace_s: float) -> None:
        """See ``Machine.stop``: docker stop."""
        self._host.end_expected()
        with self._engine.doing(f"stopping container {self._host.name}"):
            self._engine.api.stop(self._container, timeout=round(grace_s))

    def start(self) -> None:
        """See ``Machine.start``: docker start."""
        if self.state().running:
            return
        with self._engine.doing(f"starting container {self._host.name}"):
            self._engine.api.start(self._container)
        self._meet(self._host)

    def restart(self, grace_s: float) -> None:
        """See ``Machine.restart``: docker restart."""
        self._host.end_expected()
        with self._engine.doing(f"restarting container {self._host.name}"):
            self._engine.api.restart(self._container, timeout=round(grace_s))
        self._meet(self._host)

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

    def unplug(self) -> None:
        """See ``Machine.unplug``: docker network disconnect."""
        with self._engine.doing(f"disconnecting container {self._host.name}"):
            if self.state().plugged:
                self._engine.api.disconnect_container_from_network(self._container, self._network)

    def plug(self) -> None:
        """See ``Machine.plug``: docker network connect, with the address that it had."""
        with self._engine.doing(f"connecting container {self._host.name}"):
            if self.state().plugged:
                return
            address = self._host.address
            self._engine.api.connect_container_to_network(self._container, self._network, ipv4_address=address)
        self._settle(self._host)

    def state(self) -> MachineState:
        """See ``Machine.state``: what the engine says."""
        with self._engine.doing(f"looking at container {self._host.name}"):
            said = self._engine.api.inspect_container(self._container)
        state, networks = said["State"], said["NetworkSettings"]["Networks"].values()
        plugged = any(each["NetworkID"] == self._network for each in networks)
        return MachineState(bool(state["Running"]), bool(state["Paused"]), plugged, str(state["StartedAt"]))
