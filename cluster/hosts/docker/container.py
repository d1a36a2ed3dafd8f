"""One host's container: what it is made of, where its agent calls, and what has become of it.

Pid 1 is ``cluster.agent.agent``, two modules of standard library, mounted with the folder of the sockets; so any image
with a Python and what ``cluster.hosts.docker.backend`` asks for will do. Does not make a privileged container.
"""

import os
import shutil
import socket
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from chaos.core.errors import DeployError
from cluster.agent import linux
from cluster.agent.agent import run_in_container
from cluster.cleanup import run_records
from cluster.hosts.docker.engine import Engine

_CONTROL: Final = "/chaos"
_ENTRY: Final = (
    f"import sys; sys.path.insert(0, sys.argv[1]); from {run_in_container.__module__} import "
    f"{run_in_container.__name__} as run; run(sys.argv[2])"
)
_AGENT: Final = ("__init__.py", "agent/__init__.py", "agent/agent.py", "agent/linux.py")
_RIGHTS: Final = ("NET_ADMIN", "NET_RAW")
"""For packet filters: nft asks for the first, legacy iptables for both. Signals to one's own need no right."""

_SYSCTLS: Final = {
    "net.ipv4.ip_unprivileged_port_start": "0",
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
}
_DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_TAIL_LINES: Final = 3
_TAIL_CHARACTERS: Final = 300


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A host that is to be: ``addresses`` are those of all hosts, by name."""

    name: str
    image: str
    home: str
    network: str
    addresses: dict[str, str]


def settings(wanted: Wanted, api: Any) -> dict[str, Any]:
    """What runs in the container, and where it is in the network; ``api``: the SDK's client."""
    endpoint = api.create_endpoint_config(ipv4_address=wanted.addresses[wanted.name])
    return {
        "image": wanted.image,
        "entrypoint": ["python3", "-I", "-S", "-c", _ENTRY],
        "command": [_CONTROL, f"{_CONTROL}/{wanted.name}.sock"],
        "hostname": wanted.name,
        "user": "0:0",
        "working_dir": wanted.home,
        "networking_config": api.create_networking_config({wanted.network: endpoint}),
        "healthcheck": {"test": ["NONE"]},
        "use_config_proxy": False,  # a user's proxy is nothing for a network without a way out
    }


def rights(wanted: Wanted, volume: str, controls: Path, provided: Sequence[str]) -> dict[str, Any]:
    """What the container sees of this machine and may do to itself."""
    from docker.types import LogConfig, Mount

    seen = {_CONTROL: str(controls), "/etc/nsswitch.conf": f"{controls}/nsswitch.conf"}
    seen |= {path: path for path in provided}
    return {
        "network_mode": wanted.network,
        "cap_drop": ["ALL"],
        "cap_add": list(_RIGHTS),
        "security_opt": ["no-new-privileges", "label=disable"],  # SELinux keeps containers from mounted sockets
        "sysctls": {name: value for name, value in _SYSCTLS.items() if Path("/proc/sys", *name.split(".")).exists()},
        "extra_hosts": wanted.addresses,
        "mounts": [
            Mount(wanted.home, volume, type="volume", no_copy=True),
            *[Mount(inside, outside, type="bind", read_only=True) for inside, outside in seen.items()],
        ],
        "log_config": LogConfig(type="json-file", config={"max-size": "1m"}),
    }


def environment(image: Mapping[str, Any]) -> dict[str, str]:
    """Pure: the environment that an image gives its containers, from what the engine says of it."""
    pairs = (entry.partition("=") for entry in image["Config"].get("Env") or ())
    return {"PATH": _DEFAULT_PATH, **{name: value for name, _, value in pairs}}


def control_folder(run_id: str) -> Path:
    """A folder for the run's sockets, with the agent beside them; nobody else on this machine can look into it."""
    base = run_records.folder().parent / "docker"
    base.mkdir(mode=0o700, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{run_id[:20]}-", dir=base))
    (folder / "cluster" / "agent").mkdir(parents=True)
    for name in _AGENT:
        shutil.copyfile(Path(linux.__file__).parents[1] / name, folder / "cluster" / name)
    (folder / "nsswitch.conf").write_text(linux.NSSWITCH)
    return folder


def listener(controls: Path, name: str) -> socket.socket:
    """The socket at which the agent of one host calls, also after a restart of its container."""
    ours = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    folder = os.open(controls, os.O_PATH | os.O_CLOEXEC)
    try:
        ours.bind(f"/proc/self/fd/{folder}/{name}.sock")  # a socket's path may have 107 bytes; a folder's may have more
        ours.listen(1)
    except OSError as error:
        ours.close()
        raise DeployError(f"docker: no socket in {controls}: {error.strerror}") from None
    finally:
        os.close(folder)
    return ours


def fate(engine: Engine, container: str, patience_s: int = 0) -> str | None:
    """How a container ended, in words that follow its name; None while it runs, for ``patience_s`` at least."""
    import requests
    from docker.errors import NotFound

    with engine.doing("looking at a container"):
        try:
            if patience_s:
                with suppress(requests.exceptions.Timeout, requests.exceptions.ConnectionError):
                    engine.api.wait(container, timeout=patience_s)
            state = dict(engine.api.inspect_container(container)["State"])
            if state.get("Running"):
                return None
            said = engine.api.logs(container, tail=_TAIL_LINES).decode(errors="replace")
        except NotFound:
            return "was removed by somebody"
    words = " | ".join(said.split("\n"))[-_TAIL_CHARACTERS:].strip(" |")
    memory = ", out of memory" if state.get("OOMKilled") else ""
    return f"ended with {state.get('ExitCode')}{memory}{': ' if words else ''}{words}"
