"""What a fault is: it acts, it shows that it acted, it undoes, it shows that it undid.

One object is one injection: made for one row's targets, it acts once and may be healed any number of times. A class
is one kind of fault, and says all that others need to know of it; without its undo or its proof it cannot be
registered. Does not choose targets and does not keep time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, Protocol, TypeVar

import msgspec

from chaos.core import waiting
from chaos.core.clock import Deadline, now_ns
from chaos.core.errors import ChaosError, DeadlineError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour, Hits, Nature
from cluster.cluster import Cluster, Relaunch
from cluster.host import Capability, Host
from cluster.simulation.commands import Answers
from nemesis.arming import Arming
from nemesis.faults import act_times
from nemesis.faults.act_times import Span
from nemesis.faults.active_faults import InForce
from nemesis.faults.params import NoParams
from nemesis.targets.grudge import Grudge
from nemesis.targets.selectors import ANYBODY, Selector
from nemesis.targets.targets import Targets

READY_TIMEOUT_S: Final = 90.0
"""For systems that promise nothing of how soon they serve again."""


class LoadProcesses(Protocol):
    """The processes in which clients live, by name."""

    def pids(self) -> Mapping[str, int]:
        """The pid of each that lives, on the clients' host; 0 where it is no process of its own."""
        ...

    def expect_end(self, names: Collection[str]) -> None:
        """From now on it is no news that these end: they are to be killed, and started again."""
        ...

    def start_again(self) -> Mapping[str, str]:
        """Start each again that was killed, and have it go on; what became of its record, in words.

        Raises:
            ChaosError: one is not gone, its record is not whole, or it does not start.
        """
        ...

    def reconnect(self, share: float) -> None:
        """Have a share of the clients of each drop all connections at once. Raises ChaosError: one has just ended."""
        ...


class Load(NamedTuple):
    """What clients do. ``begun``: how many operations they began; ``due_s``: how many are due a second as a rule.

    ``processes``: where they live; None where nobody may touch them.
    """

    begun: Callable[[], int]
    due_s: float
    processes: LoadProcesses | None = None


NO_LOAD: Final = Load(lambda: 0, 0.0)
"""Where nobody loads the cluster."""


class Scene(msgspec.Struct, frozen=True):
    """Where a fault acts: the cluster, whom it hits, the clients' host, which it must not touch, and who else acts.

    ``serve_within_s``: how long a process that is started again may take until it says that it serves. ``params``: the
    fault's parameters as its struct; None stands for its defaults. ``load``: what clients do.
    """

    cluster: Cluster
    targets: Targets
    client: Host
    in_force: InForce = msgspec.field(default_factory=InForce)
    serve_within_s: float = READY_TIMEOUT_S
    params: Any = None
    load: Load = NO_LOAD


class Shape(msgspec.Struct, frozen=True):
    """A nemesis whose name or help does not follow from whom and how."""

    name: str
    selector: Selector
    help: str


class Fault(ABC):
    """One injection of one fault.

    A subclass says of its kind: ``name``; ``verb``, what it does to a node ("suspended"); ``help``, a line with ``{}``
    for whom it hits; ``hits``; ``colour``, the group that a report draws alike; ``needs`` of each host. Where the
    defaults are wrong also ``Params``, its parameters (see ``nemesis.faults.params``); ``selectors``, whom it can hit;
    ``shapes``, names beside these; ``cuts``: it separates nodes, so that somebody must be on the other side;
    ``silences``: while it lasts nothing passes between its targets and the others; ``restarts``: processes end and are
    started again; ``recurs``: aimed at the leader of the replicas it comes in every round of a mix; ``together``: so it
    does aimed at all nodes of the first role of this kind at once; ``in_all``: it is part of ``all``; ``survived``: the
    selectors by which every sound system keeps its promises, None for all of them; ``kills_clients``: clients lose what
    they keep in mind; ``arming``: what must be on a host before its node starts; ``least_s``: how long a row lasts at
    least where its length is drawn; ``ends_itself``: its targets are back before it is healed; ``container``: the same,
    done to the whole container of a node.
    """

    name: ClassVar[str]
    verb: ClassVar[str]
    help: ClassVar[str]
    hits: ClassVar[Hits]
    needs: ClassVar[frozenset[Capability]]
    colour: ClassVar[Colour] = "grey"
    Params: ClassVar[type[msgspec.Struct]] = NoParams
    selectors: ClassVar[tuple[Selector, ...]] = ANYBODY
    shapes: ClassVar[tuple[Shape, ...]] = ()
    cuts: ClassVar[bool] = False
    silences: ClassVar[bool] = False
    restarts: ClassVar[bool] = False
    recurs: ClassVar[bool] = False
    together: ClassVar[str] = ""
    in_all: ClassVar[bool] = True
    survived: ClassVar[frozenset[Selector] | None] = None
    kills_clients: ClassVar[bool] = False
    arming: ClassVar[Arming | None] = None
    least_s: ClassVar[float] = 0.0
    ends_itself: ClassVar[bool] = False
    container: ClassVar["type[Fault] | None"] = None

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        self.params: Any = self.Params() if scene.params is None else scene.params

    @classmethod
    def nature(cls) -> Nature:
        """What a history says of this kind."""
        return Nature(
            verb=cls.verb,
            hits=cls.hits,
            cuts=cls.cuts,
            silences=cls.silences,
            restarts=cls.restarts,
            colour=cls.colour,
        )

    @classmethod
    def on_links(cls) -> bool:
        """Whether it hits links among nodes rather than nodes."""
        return cls.hits == "links"

    @classmethod
    def takes_nodes(cls) -> bool:
        """Whether a node under it is to be under no other fault that takes nodes: not of links, nor of clients."""
        return cls.hits not in ("links", "client")

    @classmethod
    def grudge(cls, selector: Selector, names: Sequence[str], participants: Sequence[str]) -> Grudge:  # noqa: ARG003
        """Who catches whose packets: of a fault of links; nobody otherwise."""
        return {}

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """What a fault of links or of clients does, for people; others are described by the verb."""
        return f"{' '.join(names)}, {cls.verb}"

    @classmethod
    def load_factor(cls, params: Any) -> float:  # noqa: ARG003
        """How many times as many operations are due while it lasts."""
        return 1.0

    @classmethod
    def relaunch(cls, params: Any) -> Relaunch | None:  # noqa: ARG003
        """How its targets are started again otherwise than in the run; None if they are not."""
        return None

    @classmethod
    def obstacle(cls, host: Host) -> str | None:  # noqa: ARG003
        """Why it cannot be done on a host that has all its ``needs``, and what helps; found by doing."""
        return None

    @classmethod
    def simulated(cls) -> Answers:
        """What its own commands do on simulated hosts; those that the harness uses are known there."""
        return {}

    @abstractmethod
    def act(self) -> None:
        """Do it to all targets at once. A target that is gone already is remembered, not raised.

        Raises:
            ChaosError: it could not be done; it may have been done in part.
        """

    @abstractmethod
    def verify(self) -> Evidence:
        """Look, from outside, whether the fault is in force; seconds, never longer than it must."""

    @abstractmethod
    def verify_still(self) -> Evidence:
        """A quick look just before the healing, whether the fault has held until now."""

    def last_look_s(self) -> float:
        """How long that look watches, in s: it begins so much earlier. 0 where it only looks."""
        return 0.0

    @abstractmethod
    def heal(self) -> None:
        """Undo it: idempotent, attempted on every target, works when the target or the act is gone.

        Raises:
            ChaosError: a target could not be healed; the others were.
        """

    @abstractmethod
    def verify_healed(self) -> Evidence:
        """Look, from outside, whether nothing of the fault is left."""


_SAID: Final = ("name", "verb", "help", "hits", "needs")


def check_fault(fault: type[Fault]) -> None:
    """Refuse a class that does not say what it is, or that lacks its undo or its proof.

    Raises:
        TypeError: naming all that is missing.
    """
    missing = [word for word in _SAID if not hasattr(fault, word)]
    missing += sorted(getattr(fault, "__abstractmethods__", ()))
    if missing:
        raise TypeError(f"{fault.__name__} cannot be registered as a fault: it has no {', no '.join(missing)}")


T = TypeVar("T")
Fact = tuple[bool, str]
"""Whether a node is as wanted, and a phrase that says how it is."""


class Outcomes(dict[str, T | Exception]):
    """What became of one action on several nodes: a result or the exception, per node."""

    def good(self) -> dict[str, T]:
        """The nodes on which it went well."""
        return {name: result for name, result in self.items() if not isinstance(result, Exception)}

    def bad(self) -> dict[str, str]:
        """The nodes on which it did not, with one line each."""
        return {name: one_line(result) for name, result in self.items() if isinstance(result, Exception)}

    def facts(self, fact: Callable[[str, T], Fact]) -> dict[str, Fact]:
        """A fact for each node, of what was seen there; a node that could not be looked at is not as wanted."""
        seen, unseen = self.good(), self.bad()
        return {
            name: fact(name, seen[name]) if name in seen else (False, f"could not be looked at: {unseen[name]}")
            for name in self
        }

    def check(self, what: str) -> dict[str, T]:
        """All results.

        Raises:
            ChaosError: one line naming every node that failed; the others have been acted on.
        """
        if bad := self.bad():
            raise ChaosError(f"{what}: {'; '.join(f'{name}: {said}' for name, said in bad.items())}")
        return self.good()


def on_each(names: Iterable[str], action: Callable[[str], T], what: str, timeout_s: float) -> Outcomes[T]:
    """Do one thing to all nodes at the same time and wait for all of them, ``timeout_s`` at most."""
    deadline = Deadline(what, timeout_s)
    found: Outcomes[T] = Outcomes()

    spans: dict[str, Span] = {}

    def attempt(name: str, outcomes: dict[str, T | Exception]) -> None:
        began_ns = now_ns()
        try:
            outcomes[name] = action(name)
        except Exception as error:  # noqa: BLE001 - kept, and raised by ``check`` with its node's name
            outcomes[name] = error
        spans[name] = Span(began_ns, now_ns())

    wanted = list(names)
    done: dict[str, T | Exception] = {}
    threads = [waiting.thread(partial(attempt, name, done), f"{what} {name}") for name in wanted]
    for thread in threads:
        thread.join(deadline.remaining_s())
    for name in wanted:
        found[name] = done.get(name, DeadlineError(f"waited {timeout_s:g} s for {what}"))
    act_times.note(what, tuple(spans[name] for name in wanted if name in spans))
    return found


S = TypeVar("S")


def look_then_act(
    names: Iterable[str], look: Callable[[str], S], act: Callable[[str, S], T], what: str, timeout_s: float
) -> Outcomes[T]:
    """Look at all nodes at the same time, and once all have been looked at act on all at the same time.

    A look takes as long as it takes: if each node were acted on after its own, they would be hit one after the other.
    A node that could not be looked at is not acted on; the others are. ``act`` is given what the look found.
    """
    looks = on_each(names, look, f"a look before {what}", timeout_s)
    seen = looks.good()
    acted = on_each(seen, lambda name: act(name, seen[name]), what, timeout_s)
    found: Outcomes[T] = Outcomes()
    for name, one in looks.items():
        found[name] = one if isinstance(one, Exception) else acted[name]
    return found


def one_line(error: BaseException) -> str:
    """An exception in one line of at most 300 characters."""
    text = " ".join(str(error).split())
    return (text if isinstance(error, ChaosError) and text else f"{type(error).__name__}: {text}")[:300]
