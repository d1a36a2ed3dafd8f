"""tinykv as chaos knows it: the plugin behind ``--system tinykv``."""

from collections.abc import Callable, Mapping
from pathlib import Path

from chaos.core.client import Client
from chaos.core.errors import UsageError
from chaos.core.op import Word
from chaos.models.objects import register
from chaos.storage.runinfo import NodeInfo, Promises
from chaos_tinykv.client import PORT, TinyClient, TinyProbe
from cluster.host import NodeSpec
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch, Probe, RoleKind


class TinyKv:
    """tinykv: three servers, each with a third of the keys."""

    name = "tinykv"
    help = "three servers that keep registers, each a third of the keys"
    version = "1"
    roles: Mapping[str, RoleKind] = {"server": "replica"}
    workload = "register"
    start_order = (("server",),)
    settings_help: Mapping[str, str] = {
        "durable": "false: a server forgets all it had when its process ends (default true)"
    }

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Check settings and fill in defaults. Raises UsageError."""
        resolved = {"durable": "true", **settings}
        if set(resolved) != {"durable"} or resolved["durable"] not in ("true", "false"):
            raise UsageError("tinykv has one setting: --set durable=true, or false")
        return resolved

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
        """The nodes, and what must be on their hosts."""
        return tuple(NodeSpec(name=f"n{number}", role="server", programs=("python3",)) for number in (1, 2, 3))

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """Every server serves again within 10 s of the last heal."""
        return Promises(recovers_within_s=10.0)

    def fetch(self, say: Callable[[str], None]) -> Path:
        """The folder that every host must see; a real system downloads or builds here."""
        return Path(__file__).parent

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """How a node's process is started: pure data."""
        server = ("python3", "-I", "-S", f"{artefacts}/server.py", node.address, str(PORT))
        return Launch(
            argv=(*server, f"{home}/data/values.jsonl", view.settings["durable"]),
            env={},
            files={},
            ready_pattern="tinykv serves",
            logs=(STDOUT,),
            data=("data",),
        )

    def probe(self, view: ClusterView) -> Probe:
        """What observes the servers."""
        return TinyProbe(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """One client of the load."""
        return TinyClient(view)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:
        """The words of a model that clients know: here all of registers, and none of another model."""
        return frozenset(register.F) if model == register.MODEL else frozenset()
