"""What faults share that damage the files of a node: it is killed, its files damaged, and it is started again.

A copy of the files is kept beside them. A node that does not start on damaged files has noticed, which is its right: it
gets its own files back and is started on these. The proof compares all files with what they held before.
"""

import json
import secrets
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec

from chaos.core.errors import ChaosError, DeployError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from cluster.cluster import Node
from cluster.host import Capability, Host
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from cluster.simulation.commands import Answers
from nemesis.faults.disks import damage_program, simulated_disks
from nemesis.faults.fault import Fact, Fault, Scene
from nemesis.faults.processes.kill import Kill
from nemesis.targets.selectors import Selector

COPY_TIMEOUT_S: Final = 60.0
_PROGRAM: Final = Path(damage_program.__file__)
# $1 home, $2 the folder of the copy, then paths below home.
KEEP: Final = """\
cd "$1" && mkdir -p "$2" && kept=$2 && shift 2 && for path; do
  [ ! -e "$path" ] || cp -a --sparse=always --parents "$path" "$kept" || exit
done
"""
EMPTY: Final = """\
cd "$1" && shift 2 && for path; do
  if [ -d "$path" ]; then find "$path" -mindepth 1 -delete || exit; else rm -f "$path"; fi
done
"""
RESTORE: Final = (
    EMPTY.replace("shift 2", "kept=$2 && shift 2")
    + """\
[ ! -d "$kept" ] || cp -a --sparse=always "$kept/." .
"""
)


# $1 home, $2 a folder of its own there: a file of it is kept, removed, and comes back.
_TRY: Final = f"""\
keep() {{ {KEEP}}}
restore() {{ {RESTORE}}}
cd "$1" && mkdir "$2" && echo 1 > "$2/file" || exit
(keep "$1" "$2-kept" "$2") && echo 2 > "$2/file" && (restore "$1" "$2-kept" "$2") && said=$(cat "$2/file")
rm -rf "$2" "$2-kept"
[ "$said" = 1 ]
"""


class Damage(Kill):
    """The files of the targets' data; a subclass says what becomes of them."""

    colour: ClassVar[Colour] = "green"
    recurs: ClassVar[bool] = False
    together: ClassVar[str] = ""
    in_all: ClassVar[bool] = False
    survived: ClassVar[frozenset[Selector] | None] = frozenset()
    container: ClassVar[type[Fault] | None] = None
    needs: ClassVar[frozenset[Capability]] = Kill.needs | {Capability.FILES}

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._copy = f".damage-{secrets.randbits(40):010x}"
        self._were: dict[str, Mapping[str, str]] = {}
        self._said: dict[str, str] = {}
        self._refused: set[str] = set()

    @classmethod
    def simulated(cls) -> Answers:
        """See ``Fault.simulated``."""
        return {
            KEEP: simulated_disks.keep,
            EMPTY: simulated_disks.empty,
            RESTORE: simulated_disks.restore,
            _TRY: simulated_disks.nothing,
            _PROGRAM.read_text(): simulated_disks.damage,
        }

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Keep a file of our own, change it, and have it back."""
        done = host.run(
            "sh", "-c", _TRY, "sh", host.home, f".try-{secrets.randbits(40):010x}", timeout_s=COPY_TIMEOUT_S
        )
        said = " ".join(done.stderr.decode(errors="replace").split())[:200]
        return None if done.returncode == 0 else f"no copy of files can be kept: {said}; apt-get install coreutils"

    @abstractmethod
    def damage(self, node: Node) -> str:
        """Damage the files of a node that is down; what was done, in words."""

    def act(self) -> None:
        """End all targets at once, keep a copy of what they have, and damage it."""
        super().act()
        self.on_all(self._damage, "damaging files", COPY_TIMEOUT_S)

    def _damage(self, node: Node) -> None:
        self.script(node, KEEP)
        self._were[node.name] = self.digests(node)
        self._said[node.name] = self.damage(node)

    def verify(self) -> Evidence:
        """Each process is gone, and its files hold something else than before."""
        return self.look(lambda name, now: self._damaged(name, now, self._ended[name]))

    def verify_still(self) -> Evidence:
        """Look at the same, just before the start."""
        return self.look(lambda name, now: self._damaged(name, now, "still gone"))

    def _damaged(self, name: str, now: ProcState, word: str) -> Fact:
        good, said = self._gone(name, now, word)
        if not good or name not in self._were:
            return False, said if not good else f"{said}, its files were not damaged"
        were, are = self._were[name], self.digests(self.nodes[name])
        changed = [path for path in were.keys() | are.keys() if were.get(path) != are.get(path)]
        return bool(changed), f"{said}, {self._said[name]}; {len(changed)} of {len(were)} files are not as before"

    def heal(self) -> None:
        """Start every target; one that ends by itself gets its own files back first."""

        def bring_back(node: Node) -> None:
            try:
                self._restarts.bring_back(node)
            except ChaosError:
                if node.name not in self._were or node.name in self._refused:
                    raise
                self._refused.add(node.name)
                process.kill(node)
                self.script(node, RESTORE)
                self._restarts.bring_back(node)

        self.on_all(bring_back, "restart", 2 * self._wait_s)
        self.on_all(self._remove_copy, "removing the copy", COPY_TIMEOUT_S)

    def _remove_copy(self, node: Node) -> None:
        copies = [f"{node.host.home}/{self._copy}{end}" for end in ("", "-old")]
        node.host.run("rm", "-rf", *copies, timeout_s=COPY_TIMEOUT_S)

    def _healed(self, name: str, now: ProcState) -> Fact:
        good, said = super()._healed(name, now)
        refused = name in self._refused
        return good, f"would not start on damaged files and got its own back, {said}" if refused else said

    def script(self, node: Node, script: str, *, old: bool = False) -> None:
        """Run a script on the node's data: keep a copy, empty it, or restore it; ``old``: another copy than usual."""
        copy = f"{self._copy}-old" if old else self._copy
        arguments = (node.host.home, copy, *node.launch.data)
        done = node.host.run("sh", "-c", script, "sh", *arguments, timeout_s=COPY_TIMEOUT_S)
        done.check(f"{node.name}: its files")

    def program(self, node: Node, do: str, **orders: Any) -> Any:
        """Run the program that damages and compares on the node's data; what it said."""
        paths = [f"{node.host.home}/{path}" for path in node.launch.data]
        text = json.dumps({"do": do, "paths": paths, **orders})
        argv = ("python3", "-I", "-S", "-", text)
        done = node.host.run(*argv, stdin=_PROGRAM.read_bytes(), timeout_s=COPY_TIMEOUT_S)
        try:
            return msgspec.json.decode(done.check(f"{node.name}: its files").stdout)
        except msgspec.DecodeError:
            raise DeployError(f"{node.name}: looking at its files said {done.stdout[:100]!r}") from None

    def digests(self, node: Node) -> Mapping[str, str]:
        """What each file holds, as a hash."""
        found: Mapping[str, str] = self.program(node, "digest")
        return found
