"""How a node is started: its files, its command and its environment. Pure but for reading the observer's source.

The command is the one of RabbitMQ's own start script, which is a shell that stays in front of the node; here the node
is the process itself. A small observer runs inside the node and tells what the node knows of itself (``observer.erl``).
"""

from pathlib import Path
from typing import Final

from chaos.storage.runinfo import NodeInfo
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch
from cluster.systems.rabbitmq import settings as settings_of
from cluster.systems.rabbitmq.amqp import PORT
from cluster.systems.rabbitmq.programs import ERLANG, RUNTIME, SERVER
from cluster.systems.rabbitmq.settings import TICK

ROLE: Final = "server"
OBSERVER_PORT: Final = 25680
DISTRIBUTION_PORT: Final = 25672
FILE: Final = "rabbitmq.conf"
_START: Final = (
    'mkdir -p data && "$BINDIR/epmd" -daemon && n=0 && '
    'until "$BINDIR/epmd" -names >/dev/null 2>&1; do n=$((n+1)); [ $n -lt 100 ] || exit 1; sleep 0.1; done && exec "$@"'
)
"""The port mapper of the host's Erlang nodes outlives them, as on any machine."""
_OBSERVE: Final = (
    '{{ok, M, B}} = compile:file("{home}/observer", [binary, report]), '
    '{{module, M}} = code:load_binary(M, "observer", B), M:start({address}, {port}).'
)
_RUNTIME: Final = (
    *("+W", "w", "+MBas", "ageffcbf", "+MHas", "ageffcbf", "+MBlmbcs", "512", "+MHlmbcs", "512", "+MMmcs", "30"),
    *("+P", "1048576", "+t", "5000000", "+zdbbl", "128000", "+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"),
    *("+S", "1:1", "+B", "i"),
)
"""As RabbitMQ starts it, but for one scheduler, since nodes share the machine."""


def node_name(node: NodeInfo) -> str:
    """The name of an Erlang node."""
    return f"rabbit@{node.address}"


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How this node is started; one that has data goes on with it."""
    address = "{" + node.address.replace(".", ",") + "}"
    observe = _OBSERVE.format(home=home, address=address, port=OBSERVER_PORT)
    kernel = {
        "net_ticktime": view.settings[TICK],
        "inet_dist_use_interface": address,
        "prevent_overlapping_partitions": "false",
    }
    return Launch(
        argv=(
            *("sh", "-c", _START, "sh"),
            *(f"{artefacts}/{RUNTIME}/erlexec", "-noinput", "-eval", observe, "-s", "rabbit", "boot"),
            *("-boot", "start_sasl", *_RUNTIME, "-setcookie", view.mark),
            *(word for name, value in kernel.items() for word in ("-kernel", name, value)),
            *("-syslog", "logger", "[]", "-syslog", "syslog_error_logger", "false"),
        ),
        env=environment(node, home, artefacts),
        files={
            FILE: config(node, view).encode(),
            "observer.erl": Path(__file__).with_name("observer.erl").read_bytes(),
        },
        ready_pattern="Server startup complete",
        logs=(STDOUT,),
        data=("data",),
    )


def environment(node: NodeInfo, home: str, artefacts: str) -> dict[str, str]:
    """The variables of a node: where programs are, and that everything it writes is in its own folder."""
    return {
        "EMU": "beam",
        "ROOTDIR": f"{artefacts}/{ERLANG}",
        "BINDIR": f"{artefacts}/{RUNTIME}",
        "PROGNAME": "erlexec",
        "ERL_LIBS": f"{artefacts}/{SERVER}/plugins",
        "ERL_CRASH_DUMP_BYTES": "0",
        "ERL_MAX_PORTS": "65536",
        "HOME": home,
        "LANG": "C.UTF-8",
        "LD_LIBRARY_PATH": f"{artefacts}/lib",
        "RABBITMQ_HOME": f"{artefacts}/{SERVER}",
        "RABBITMQ_PLUGINS_DIR": f"{artefacts}/{SERVER}/plugins",
        "RABBITMQ_NODENAME": node_name(node),
        "RABBITMQ_USE_LONGNAME": "true",
        "RABBITMQ_DIST_PORT": str(DISTRIBUTION_PORT),
        "RABBITMQ_CONFIG_FILE": f"{home}/{FILE}",
        "RABBITMQ_ADVANCED_CONFIG_FILE": f"{home}/advanced.config",
        "RABBITMQ_CONF_ENV_FILE": f"{home}/rabbitmq-env.conf",
        "RABBITMQ_ENABLED_PLUGINS_FILE": f"{home}/enabled_plugins",
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_LOG_BASE": f"{home}/data/log",
        "RABBITMQ_MNESIA_BASE": f"{home}/data",
        "RABBITMQ_MNESIA_DIR": f"{home}/data/mnesia",
        "RABBITMQ_FEATURE_FLAGS_FILE": f"{home}/data/feature_flags",
        "RABBITMQ_GENERATED_CONFIG_DIR": f"{home}/data/config",
        "RABBITMQ_PLUGINS_EXPAND_DIR": f"{home}/data/plugins",
        "RABBITMQ_PID_FILE": f"{home}/data/pid",
    }


def config(node: NodeInfo, view: ClusterView) -> str:
    """rabbitmq.conf."""
    discovery = "cluster_formation.peer_discovery_backend"
    wired = {
        "listeners.tcp.1": f"{node.address}:{PORT}",
        "loopback_users": "none",
        "log.console": "true",
        "log.console.level": "info",
        "log.file": "false",
        discovery: "classic_config",
        **{
            f"cluster_formation.classic_config.nodes.{number}": node_name(each)
            for number, each in enumerate(view.nodes, 1)
        },
    }
    return "".join(f"{key} = {value}\n" for key, value in {**wired, **settings_of.lines(view.settings)}.items())
