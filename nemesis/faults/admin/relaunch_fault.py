"""What faults share that start nodes again otherwise than in the run: one after the other, and back again at the end.

A node serves again before the next is touched, as with any rolling restart. Proven by what each node says of itself and
by its process, which is another one; undone once each says again what it said before.
"""

from abc import abstractmethod
from contextlib import suppress
from typing import Any, ClassVar, Final

import msgspec

from chaos.core import waiting
from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from cluster.cluster import Node, Relaunch
from cluster.host import Capability
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.admin.admin_fault import AdminFault, evidence_of
from nemesis.faults.fault import Fact, Scene, on_each
from nemesis.faults.processes.rolling_restart import RollingRestart
from nemesis.proof.evidence import combine_evidence

_POLL_S: Final = 0.2


class RelaunchFault(RollingRestart, AdminFault):
    """A rolling restart by which nodes become other; a subclass says how, and how a node tells what it is."""

    colour: ClassVar[Colour] = "brown"
    needs: ClassVar[frozenset[Capability]] = RollingRestart.needs | AdminFault.needs

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._serve_within_s = scene.serve_within_s
        self._usual: dict[str, Node] = {}
        self._said_before: dict[str, str] = {}

    @classmethod
    @abstractmethod
    def relaunch(cls, params: Any) -> Relaunch:
        """How it is started again."""

    @classmethod
    @abstractmethod
    def wanted(cls, params: Any) -> str:
        """What a node says that was started so."""

    @abstractmethod
    def said(self, name: str) -> str:
        """What a node itself says now. Raises ChaosError: it does not answer, or the system cannot tell."""

    def act(self) -> None:
        """Hear what each target says, change the first one, and go on with the others."""
        if self.cluster.launch_again is None:
            raise ChaosError("only their user knows how these nodes are started")
        heard = on_each(self.nodes, self.said, "what it goes by", self._serve_within_s)
        self._said_before = heard.check("asking nodes what they go by")
        super().act()

    def _act_on(self, node: Node) -> None:
        assert self.cluster.launch_again is not None
        launch = self.cluster.launch_again(node, self.relaunch(self.params))
        self._usual[node.name] = node
        self.nodes[node.name] = msgspec.structs.replace(node, launch=launch)
        super()._act_on(self.nodes[node.name])

    def _another(self, name: str, now: ProcState, before_that: str) -> Fact:
        good, phrase = super()._another(name, now, before_that)
        if not good:
            return good, phrase
        changed, what = self._says(name, self.wanted(self.params))
        return changed, f"{phrase} and {what}"

    def _says(self, name: str, wanted: str) -> Fact:
        """Wait until a node that was started again answers; whether it says what it should."""
        deadline = Deadline(f"{name} to say what it goes by", self._serve_within_s)
        while True:
            try:
                said = self.said(name)
            except ChaosError as error:
                if deadline.expired():
                    return False, str(error)
                waiting.sleep(_POLL_S)
            else:
                return said == wanted, f"says {said}{'' if said == wanted else f', not {wanted}'}"

    def heal(self) -> None:
        """Start each that was changed as before, one after the other, and wait until all serve."""
        self._round.end(self._wait_s)
        for name, usual in tuple(self._usual.items()):
            self.nodes[name] = usual
            process.stop(usual)
            with suppress(ChaosError):  # the others must go back as well; whether it serves is asked of all at the end
                self._restarts.bring_back(usual)
            del self._usual[name]
        super().heal()

    def verify_healed(self) -> Evidence:
        """Each target lives, serves, and says what it said before."""
        lives = super().verify_healed()
        if not (lives.proven and self._said_before):
            return lives
        wait_s = self._serve_within_s + self._wait_s
        back = on_each(self._said_before, lambda name: self._says(name, self._said_before[name]), "its setting", wait_s)
        return combine_evidence(lives, evidence_of(back.facts(lambda _, fact: fact)))
