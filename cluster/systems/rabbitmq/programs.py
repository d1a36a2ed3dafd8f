"""Where RabbitMQ comes from: Debian's packages of it and of the Erlang that it needs. Pure."""

from typing import Final

from cluster.systems._shared import debian

VERSION: Final = "3.10.8"
_ERLANG: Final = "1:25.2.3"
_APPLICATIONS: Final = (
    *("asn1", "base", "crypto", "eldap", "inets", "mnesia", "os-mon", "parsetools", "public-key"),
    *("runtime-tools", "ssl", "syntax-tools", "tools", "xmerl"),
)
PACKAGE: Final = debian.Package(
    program="rabbitmq",
    name="rabbitmq-server",
    version=VERSION,
    size="34 MB",
    holds="usr/lib",
    others=tuple((f"erlang-{application}", _ERLANG) for application in _APPLICATIONS),
    libraries=("libtinfo6", "zlib1g", "libssl3", "libstdc++6", "libgcc-s1"),
)
SERVER: Final = f"rabbitmq/lib/rabbitmq_server-{VERSION}"
"""The folder of the server in what is kept."""
ERLANG: Final = "erlang"
RUNTIME: Final = f"{ERLANG}/erts-13.1.5/bin"
