"""Have the leader hand its leadership over to another node, as an operator does before a node is taken away.

Proven by what each node itself says of who leads, not by the answer to the request. At the fault's end the leadership
is handed back, unless it has moved on by itself.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from chaos.core import waiting
from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError
from chaos.core.events import Evidence
from cluster.admin import TRANSFER_LEADERSHIP, TransfersLeadership
from nemesis.faults.admin.admin_fault import AdminFault, evidence_of
from nemesis.faults.fault import Fact, Scene, Shape
from nemesis.targets.selectors import Selector

_SEEN_WITHIN_S: Final = 5.0
_LED_AGAIN_S: Final = 30.0
_POLL_S: Final = 0.1


class Handed(NamedTuple):
    """A subject that was handed over."""

    subject: str
    before: str
    to: str


class Named(NamedTuple):
    """Whom a majority of the nodes names as leader, None for nobody; and what each says, in words."""

    leader: str | None
    words: str


def successor(voters: Sequence[str], leader: str) -> str:
    """Pure: who comes after the leader, in a ring.

    Raises:
        ChaosError: there is no other.
    """
    others = [*voters[voters.index(leader) + 1 :], *voters[: voters.index(leader)]] if leader in voters else voters
    if not others:
        raise ChaosError(f"nobody but {leader} may lead, so nothing was handed over")
    return others[0]


def named_by(said: Mapping[str, str | None], voters: Sequence[str]) -> Named:
    """Pure: the leader that a majority of the voters names and nobody contradicts."""
    leaders = {leader for leader in said.values() if leader is not None}
    naming = sum(leader is not None for leader in said.values())
    leader = leaders.pop() if len(leaders) == 1 and 2 * naming > len(voters) else None
    words = [f"{node} names {said[node] or 'nobody'}" if node in said else f"{node} is silent" for node in voters]
    return Named(leader, ", ".join(words))


class TransferLeadership(AdminFault):
    """Every subject that a target leads goes to the next node that may lead it."""

    name: ClassVar[str] = "transfer-leadership"
    action: ClassVar[str] = TRANSFER_LEADERSHIP
    verb: ClassVar[str] = "asked to hand over its leadership"
    help: ClassVar[str] = "have {} hand leadership over to another node, and back when the fault ends"
    selectors: ClassVar[tuple[Selector, ...]] = ()
    shapes: ClassVar[tuple[Shape, ...]] = (
        Shape(
            "transfer-leadership",
            Selector.LEADER,
            "have the leader of a subject (drawn; or @SUBJECT, @all) hand over to another node until the fault ends",
        ),
    )

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._handed: list[Handed] = []
        self._to_return: list[Handed] = []
        self._seen: dict[str, Fact] = {}

    def _admin(self) -> TransfersLeadership:
        """Who does it. Raises ChaosError: the system does not offer it."""
        admin = self.cluster.admin
        if not isinstance(admin, TransfersLeadership):
            raise self.not_offered()
        return admin

    def act(self) -> None:
        """Hand over what the targets lead; refused where they lead nothing any more."""
        admin = self._admin()
        for subject in [subject.name for subject in self.cluster.subjects]:
            said = admin.leaders(subject)
            leader = named_by(said, admin.voters(subject)).leader
            if leader in self.names:
                one = Handed(subject, leader, successor(tuple(said), leader))
                self._to_return.append(one)
                admin.transfer_leadership(subject, one.to)
                self._handed.append(one)
        if not self._handed:
            raise ChaosError(f"{' '.join(self.names)} led nothing any more, so nothing was handed over")

    def verify(self) -> Evidence:
        """A majority of those that may lead names the asked one, and nobody who answers names another."""
        self._seen = {one.subject: self._arrived(one) for one in self._handed}
        return evidence_of(self._seen)

    def _arrived(self, one: Handed) -> Fact:
        found = self._await(one.subject, {one.to}, _SEEN_WITHIN_S)
        if found.leader == one.to:
            return True, f"is led by {one.to} instead of {one.before}: {found.words}"
        return False, f"is not led by {one.to}, to whom {one.before} was to hand it over: {found.words}"

    def verify_still(self) -> Evidence:
        """That it was handed over stays true, whatever came then; who leads now is told."""
        now = {subject: self._leader(subject).words for subject in self._seen}
        return evidence_of(
            {subject: (good, f"{said}; now {now[subject]}") for subject, (good, said) in self._seen.items()}
        )

    def heal(self) -> None:
        """Hand back what still lies where it was handed to."""
        admin = self._admin()
        while self._to_return:
            one = self._to_return.pop()
            if self._leader(one.subject).leader == one.to:
                admin.transfer_leadership(one.subject, one.before)

    def verify_healed(self) -> Evidence:
        """A majority names one leader, whoever it is."""
        subjects = [one.subject for one in self._handed] or [subject.name for subject in self.cluster.subjects]
        found = {subject: self._await(subject, None, _LED_AGAIN_S) for subject in subjects}
        return evidence_of(
            {subject: (one.leader is not None, f"is led again: {one.words}") for subject, one in found.items()}
        )

    def _await(self, subject: str, wanted: set[str] | None, within_s: float) -> Named:
        """Who leads, once it is one of ``wanted``, or anybody; what is seen last if that does not come in time."""
        deadline = Deadline(f"the leader of {subject}", within_s)
        while True:
            found = self._leader(subject)
            good = found.leader is not None if wanted is None else found.leader in wanted
            if good or deadline.expired():
                return found
            waiting.sleep(_POLL_S)

    def _leader(self, subject: str) -> Named:
        admin = self._admin()
        return named_by(admin.leaders(subject), admin.voters(subject))
