"""Ask processes to end, end what does not, show that they are gone, start them again at the fault's end."""

from typing import ClassVar

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.fault_nature import Colour
from cluster.cluster import Node
from cluster.nodes import process
from nemesis.faults.fault import Fault
from nemesis.faults.processes.kill import Kill, KillContainer
from nemesis.faults.processes.machine_fault import machine_of


class StopContainer(KillContainer):
    """The host of each target is asked to end, and is started again."""

    name: ClassVar[str] = "stop"
    verb: ClassVar[str] = "stopped"
    help: ClassVar[str] = "stop the whole container of {} (docker stop); start it again when the fault ends"
    colour: ClassVar[Colour] = "peach"

    def _end(self, node: Node) -> None:
        machine_of(node).stop(process.GRACE_S)


class Stop(Kill):
    """SIGTERM to the process of each target and to its session, SIGKILL to what has not ended 10 s later."""

    name: ClassVar[str] = "stop"
    verb: ClassVar[str] = "stopped"
    help: ClassVar[str] = "stop {} (SIGTERM, and SIGKILL after 10 s); start each again when the fault ends"
    recurs: ClassVar[bool] = False
    together: ClassVar[str] = ""
    colour: ClassVar[Colour] = "peach"
    container: ClassVar[type[Fault] | None] = StopContainer

    def _end(self, node: Node) -> str:
        began_ns = now_ns()
        how = "ended by itself" if process.stop(node) else "did not end by itself and was killed"
        return f"{how} after {(now_ns() - began_ns) / NS_PER_S:.1f} s"
