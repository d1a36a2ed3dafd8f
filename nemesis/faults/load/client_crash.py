"""Kill the processes in which clients live, and start them again: what was open has an outcome that nobody knows.

Each operation was recorded before it left, so the history is whole: the record of a killed process is ended behind what
it had stored. The one that follows has other numbers, and takes up what is due from then on.
"""

from typing import Any, ClassVar, Final

import msgspec

from chaos.core import waiting
from chaos.core.clock import Deadline
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from nemesis.faults.fault import Fact, Scene, Shape
from nemesis.faults.load.client_fault import ClientFault, Living, Share, first_of
from nemesis.faults.programs import ACTION_TIMEOUT_S
from nemesis.proof.evidence import each_node
from nemesis.targets.selectors import Selector

GOES_ON_S: Final = 15.0
"""So long it may take until clients are seen to ask again: counts come once a second."""
_POLL_S: Final = 0.1


class ClientCrashParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many."""

    share: Share = 1.0


class ClientCrash(ClientFault):
    """SIGKILL to some or all processes of clients."""

    name: ClassVar[str] = "client-crash"
    verb: ClassVar[str] = "without their clients"
    help: ClassVar[str] = "kill client processes of {}"
    Params: ClassVar[type[msgspec.Struct]] = ClientCrashParams
    shapes: ClassVar[tuple[Shape, ...]] = (
        Shape(
            "client-crash", Selector.ALL, "kill all client processes (SIGKILL); start them again when the fault ends"
        ),
    )
    colour: ClassVar[Colour] = "grey"
    kills_clients: ClassVar[bool] = True
    least_s: ClassVar[float] = 2.0

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._killed: dict[str, Living] = {}
        self._records: dict[str, str] = {}

    @classmethod
    def describe(cls, selector: Selector, names: Any, others: Any, params: Any) -> str:  # noqa: ARG003
        """How many."""
        return "clients killed" if params.share == 1 else f"{params.share:.0%} of the clients' processes killed"

    def act(self) -> None:
        """Kill them all at once."""
        living = self.living()
        hit = first_of(list(living), self.params.share)
        if not hit:
            return
        self.processes().expect_end(hit)
        self._killed = {name: living[name] for name in hit}
        pids = [str(one.pid) for one in self._killed.values()]
        self.host.run("sh", "-c", 'kill -KILL "$@"', "sh", *pids, timeout_s=ACTION_TIMEOUT_S).check("killing clients")

    def verify(self) -> Evidence:
        """Each process is gone from /proc."""
        if not self._killed:
            return Evidence(kind="proc", proven=False, summary="no client is killed: share is 0")
        seen = Deadline("clients to be gone", ACTION_TIMEOUT_S)
        while (left := self._left()) and not seen.expired():
            waiting.sleep(_POLL_S)
        return each_node({name: self._gone(name, left) for name in self._killed})

    def verify_still(self) -> Evidence:
        """Look at the same."""
        left = self._left()
        return each_node({name: self._gone(name, left) for name in self._killed}) if self._killed else self.verify()

    def _left(self) -> set[str]:
        """Which of the killed still live."""
        begun = self.begun([one.pid for one in self._killed.values()])
        return {name for name, one in self._killed.items() if begun.get(one.pid) == one.start}

    def _gone(self, name: str, left: set[str]) -> Fact:
        return name not in left, f"pid {self._killed[name].pid} {'lives' if name in left else 'is gone'}"

    def heal(self) -> None:
        """Start each again that was killed."""
        if self._killed and self.load.processes is not None:
            self._records |= self.load.processes.start_again()

    def verify_healed(self) -> Evidence:
        """Each is another process, and clients ask again."""
        if not self._killed:
            return Evidence(kind="proc", proven=True, summary="every client was left alone")
        living = self.living()
        asks = self._asks_again()
        return each_node({name: self._back(name, living.get(name), asks=asks) for name in self._killed})

    def _back(self, name: str, now: Living | None, *, asks: bool) -> Fact:
        before = self._killed[name]
        if now is None or now == before:
            return False, "is gone" if now is None else f"pid {now.pid} was never gone"
        record = f"; {self._records[name]}" if name in self._records else ""
        return asks, f"pid {now.pid} {'asks' if asks else 'does not ask'} instead of pid {before.pid}{record}"

    def _asks_again(self) -> bool:
        """Whether clients begin operations."""
        before, deadline = self.load.begun(), Deadline("clients to ask again", GOES_ON_S)
        while self.load.begun() <= before and not deadline.expired():
            waiting.sleep(_POLL_S)
        return self.load.begun() > before
