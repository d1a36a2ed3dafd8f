"""What a fault is: it acts, it shows that it acted, it undoes, it shows that it undid.

One object is one injection: made for one row's targets, it acts once and may be healed any number of
times. A class without its undo or its proof cannot be registered. The module refuses to choose
targets and to keep time.
"""

from collections.abc import Callable, Iterable, Mapping
from threading import Thread
from types import MappingProxyType
from typing import ClassVar, Final, Protocol, TypeVar

import msgspec

from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError, DeadlineError
from chaos.core.events import Evidence
from cluster.cluster import Cluster
from cluster.host import Capability, Host
from nemesis.faults.active_faults import InForce
from nemesis.plan.catalog import Kind
from nemesis.targets.choice import Targets

READY_TIMEOUT_S: Final = 90.0
"""For systems that promise nothing of how soon they serve again."""


class Scene(msgspec.Struct, frozen=True):
    """Where a fault acts: the cluster, whom it hits, the clients' host, which it must not touch, and who else acts.

    ``serve_within_s``: how long a process that is started again may take until it says that it serves.
    """

    cluster: Cluster
    targets: Targets
    client: Host
    in_force: InForce = msgspec.field(default_factory=InForce)
    serve_within_s: float = READY_TIMEOUT_S


class Fault(Protocol):
    """One injection of one fault. ``kind`` is its row in the catalog, ``needs`` what it asks of each host."""

    kind: ClassVar[Kind]
    needs: ClassVar[frozenset[Capability]]

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""

    def act(self) -> None:
        """Do it to all targets at once. A target that is gone already is remembered, not raised.

        Raises:
            ChaosError: it could not be done; it may have been done in part.
        """
        ...

    def verify(self) -> Evidence:
        """Look, from outside, whether the fault is in force; seconds, never longer than it must."""
        ...

    def verify_still(self) -> Evidence:
        """A quick look just before the healing, whether the fault has held until now."""
        ...

    def heal(self) -> None:
        """Undo it: idempotent, attempted on every target, works when the target or the act is gone.

        Raises:
            ChaosError: a target could not be healed; the others were.
        """
        ...

    def verify_healed(self) -> Evidence:
        """Look, from outside, whether nothing of the fault is left."""
        ...


_VERBS: Final = ("act", "verify", "verify_still", "heal", "verify_healed")


def registered(*faults: type[Fault]) -> Mapping[Kind, type[Fault]]:
    """The faults by kind.

    Raises:
        TypeError: a class lacks its kind, its needs or one of the verbs of its own; or two are of one kind.
    """
    by_kind: dict[Kind, type[Fault]] = {}
    for fault in faults:
        missing = [name for name in ("kind", "needs") if not hasattr(fault, name)]
        missing += [verb for verb in _VERBS if getattr(fault, verb, None) in (None, getattr(Fault, verb))]
        if missing:
            raise TypeError(f"{fault.__name__} cannot be registered as a fault: it has no {', no '.join(missing)}")
        if fault.kind in by_kind:
            raise TypeError(f"two faults of kind {fault.kind}: {by_kind[fault.kind].__name__} and {fault.__name__}")
        by_kind[fault.kind] = fault
    return MappingProxyType(by_kind)


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

    def attempt(name: str, outcomes: dict[str, T | Exception]) -> None:
        try:
            outcomes[name] = action(name)
        except Exception as error:  # noqa: BLE001 - kept, and raised by ``check`` with its node's name
            outcomes[name] = error

    wanted = list(names)
    done: dict[str, T | Exception] = {}
    threads = [Thread(target=attempt, args=(name, done), name=f"{what} {name}", daemon=True) for name in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(deadline.remaining_s())
    for name in wanted:
        found[name] = done.get(name, DeadlineError(f"waited {timeout_s:g} s for {what}"))
    return found


def one_line(error: BaseException) -> str:
    """An exception in one line of at most 300 characters."""
    text = " ".join(str(error).split())
    return (text if isinstance(error, ChaosError) and text else f"{type(error).__name__}: {text}")[:300]
