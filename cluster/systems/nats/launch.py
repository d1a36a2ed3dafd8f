"""How a server is started: its file and its command. Pure."""

from typing import Final

from chaos.storage.runinfo import NodeInfo
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch
from cluster.systems.nats.buckets import duration_ns
from cluster.systems.nats.jetstream import PORT
from cluster.systems.nats.programs import PROGRAM
from cluster.systems.nats.settings import ALWAYS, STOCK_SYNC, SYNC

ROLE: Final = "server"
MONITOR_PORT: Final = 8222
ROUTE_PORT: Final = 6222
FILE: Final = "nats.conf"


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How this server is started; one that has data goes on with it."""
    return Launch(
        argv=(f"{artefacts}/{PROGRAM}", "-c", f"{home}/{FILE}"),
        env={"GOMAXPROCS": "1", "GOMEMLIMIT": "128MiB", "HOME": home},
        files={FILE: config(node, home, view).encode()},
        ready_pattern="Server is ready",
        logs=(STDOUT,),
        data=("data",),
    )


def config(node: NodeInfo, home: str, view: ClusterView) -> str:
    """nats.conf. The tag lets a bucket with one replica be given to this server."""
    sync = view.settings[SYNC]
    interval = sync if sync == ALWAYS else f"{duration_ns(sync)}ns"  # the server reads fewer ways of writing a time
    routes = ", ".join(f'"nats://{each.address}:{ROUTE_PORT}"' for each in view.nodes)
    others = f"no_advertise: true, routes: [{routes}]"
    store = [f'store_dir: "{home}/data"', "max_mem: 64M", "max_file: 4G"]
    store += [] if sync == STOCK_SYNC else [f'sync_interval: "{interval}"']
    return "\n".join(
        [
            f"server_name: {node.name}",
            f'server_tags: ["server:{node.name}"]',
            f"listen: {node.address}:{PORT}",
            f"http: {node.address}:{MONITOR_PORT}",
            f"jetstream {{ {', '.join(store)} }}",
            f"cluster {{ name: {view.mark}, listen: {node.address}:{ROUTE_PORT}, {others} }}",
            "",
        ]
    )
