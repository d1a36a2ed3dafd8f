"""The files of a server: who belongs to the cluster, and its properties. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from cluster.systems.nacos.servers import PORT

_PROPERTIES: Final = {
    "nacos.server.main.port": str(PORT),
    "nacos.core.auth.enabled": "false",
    "nacos.core.auth.admin.enabled": "false",
    "nacos.core.auth.console.enabled": "false",
    "nacos.core.auth.system.type": "nacos",
    "nacos.core.auth.server.identity.key": "chaos",
    "nacos.core.auth.server.identity.value": "chaos",
    "nacos.istio.mcp.server.enabled": "false",
    "management.elastic.metrics.export.enabled": "false",
    "management.influx.metrics.export.enabled": "false",
    "logging.level.com.alibaba.nacos.core.protocol.raft": "INFO",
    "server.tomcat.max-keep-alive-requests": "-1",
    "db.pool.config.connectionTimeout": "120000",
}
"""The last three: a server writes each entry of Raft to a log otherwise, closes a connection after a hundred requests,
and ends where a busy machine keeps its database waiting."""


def cluster_file(addresses: Iterable[str]) -> bytes:
    """The servers of a cluster, as Nacos reads them."""
    return "".join(f"{address}:{PORT}\n" for address in addresses).encode()


def properties_file(address: str, home: str, more: Mapping[str, str]) -> bytes:
    """The properties of the server at an address."""
    properties = {**_PROPERTIES, "server.address": address, "server.tomcat.basedir": f"file:{home}", **more}
    return "".join(f"{key}={value}\n" for key, value in properties.items()).encode()
