"""How a node is started: its files and its command. Pure."""

from collections.abc import Mapping
from typing import Final

from chaos.storage.runinfo import NodeInfo
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch
from cluster.systems.redis import slots
from cluster.systems.redis.settings import CLUSTER, DIRECTIVES, SENTINEL

PORT: Final = slots.PORT
SENTINEL_PORT: Final = 26379
SERVER: Final = "server"
WATCHER: Final = "sentinel"
MASTER: Final = "redis"
"""What sentinels call the master that they watch."""
QUORUM: Final = 2

_START: Final = 'mkdir -p data && for f in first/*; do [ -e "data/${f##*/}" ] || cp "$f" data/; done && exec "$@"'
"""Servers and sentinels write into their own files; they get them once."""


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How this node is started."""
    watches = node.role == WATCHER
    name = "sentinel.conf" if watches else "redis.conf"
    lines = _sentinel(node, home, view) if watches else _server(node, home, view)
    files = {f"first/{name}": "".join(f"{line}\n" for line in lines).encode()}
    if view.settings["cluster.mode"] == "cluster":
        files["first/nodes.conf"] = slots.nodes_file(view.mark, view.of_role(SERVER), node.name).encode()
    return Launch(
        argv=(
            "sh",
            "-c",
            _START,
            "sh",
            f"{artefacts}/redis-server",
            f"data/{name}",
            *(["--sentinel"] if watches else []),
        ),
        env={"LD_LIBRARY_PATH": f"{artefacts}/lib", "HOME": home},
        files=files,
        ready_pattern=r"\+monitor master" if watches else "Ready to accept connections",
        logs=(STDOUT,),
        data=("data",),
    )


def _common(node: NodeInfo, home: str, port: int) -> list[str]:
    return [
        "protected-mode no",
        "daemonize no",
        f"bind {node.address}",
        f"port {port}",
        f"dir {home}/data",
        'logfile ""',
    ]


def _server(node: NodeInfo, home: str, view: ClusterView) -> list[str]:
    """redis.conf. The first server is the first master."""
    mode, first = view.settings["cluster.mode"], view.of_role(SERVER)[0]
    lines = [
        *_common(node, home, PORT),
        f"bind-source-addr {node.address}",
        'save ""',
        "repl-diskless-sync-delay 0",
        "repl-timeout 10",
        "enable-debug-command yes",  # for DEBUG DIGEST, by which copies are compared after the load
        *_lines(view.settings, DIRECTIVES),
    ]
    if mode == "sentinel":
        lines.append(f"replica-announce-ip {node.address}")
        lines += [f"replicaof {first.address} {PORT}"] if node.name != first.name else []
    if mode == "cluster":
        lines += ["cluster-enabled yes", "cluster-config-file nodes.conf", f"cluster-announce-ip {node.address}"]
        lines += _lines(view.settings, CLUSTER)
    return lines


def _sentinel(node: NodeInfo, home: str, view: ClusterView) -> list[str]:
    """sentinel.conf."""
    first = view.of_role(SERVER)[0]
    return [
        *_common(node, home, SENTINEL_PORT),
        f"sentinel announce-ip {node.address}",
        f"sentinel announce-port {SENTINEL_PORT}",
        "sentinel current-epoch 1",  # 0 would be no epoch of anybody
        f"sentinel monitor {MASTER} {first.address} {PORT} {QUORUM}",
        f"sentinel config-epoch {MASTER} 1",
        *(f"sentinel {name} {MASTER} {view.settings[name]}" for name in SENTINEL),
        f"sentinel parallel-syncs {MASTER} 2",
    ]


def _lines(settings: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
    return [f"{name} {settings[name]}" for name in names]
