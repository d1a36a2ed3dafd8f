"""Machines for tests that are containers with an sshd, and a place in their network."""

import contextlib
import io
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from ssh_support import PORT, in_network, keygen, machines_text

from cluster.hosts.addressing import addresses
from cluster.hosts.docker import image, network
from cluster.hosts.docker.engine import Engine, connect, labels

CONFIG = f"""\
Port {PORT}
HostKey /etc/ssh/host_key
PermitRootLogin yes
UsePAM no
Subsystem sftp internal-sftp
"""
SERVE = ["sh", "-c", "mkdir -p /run/sshd && exec /usr/sbin/sshd -D -e -f /etc/ssh/of_test"]


def archive(files: dict[str, bytes]) -> bytes:
    """A tar of files that only root may read."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o600
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


class ContainerLab:
    """A container with sshd for each name, and one with nothing whose network is the harness'."""

    def __init__(
        self,
        folder: Path,
        names: tuple[str, ...],
        packages: tuple[str, ...],
        engine: Engine,
        undo: contextlib.ExitStack,
    ) -> None:
        self.folder, self.known_hosts = folder, folder / "known_hosts"
        self.key = keygen(folder / "id")
        self._engine, self._undo = engine, undo
        self._run_id = f"ssh-lab-{os.getpid()}-{time.monotonic_ns()}"
        self._image = image.build(engine, (*packages, "openssh-server"), print)
        self._network, part = network.make(engine, self._run_id, len(names) + 1)
        undo.callback(engine.api.remove_network, self._network)
        self.addresses = addresses([*names, "client"], part)
        with self.known_hosts.open("w") as known:
            for name in names:
                host_key = keygen(folder / f"{name}-host-key")
                known.write(f"[{self.addresses[name]}]:{PORT} {host_key.with_suffix('.pub').read_text()}")
                files = {
                    "etc/ssh/host_key": host_key.read_bytes(),
                    "etc/ssh/of_test": CONFIG.encode(),
                    "root/.ssh/authorized_keys": self.key.with_suffix(".pub").read_bytes(),
                }
                self._started(name, SERVE, files)
        client = self._started("client", ["sleep", "infinity"], {})
        pid = engine.api.inspect_container(client)["State"]["Pid"]
        namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        undo.callback(os.close, namespace)
        undo.enter_context(in_network(namespace))

    def _started(self, name: str, command: list[str], files: dict[str, bytes]) -> str:
        api = self._engine.api
        endpoint = api.create_endpoint_config(ipv4_address=self.addresses[name])
        made = api.create_container(
            image=self._image,
            entrypoint=command,
            hostname=name,
            labels=labels(self._run_id),
            networking_config=api.create_networking_config({self._network: endpoint}),
            host_config=api.create_host_config(
                network_mode=self._network, cap_add=["NET_ADMIN"], extra_hosts=self.addresses, init=True
            ),
        )["Id"]
        self._undo.callback(api.remove_container, made, force=True)
        if files:
            assert api.put_archive(made, "/", archive(files))
        api.start(made)
        return str(made)

    def nodes_file(self, *names: str) -> str:
        """See ``ssh_support.Place``."""
        path = self.folder / "nodes.yaml"
        wanted = names or tuple(name for name in self.addresses if name != "client")
        path.write_text(machines_text({name: self.addresses[name] for name in wanted}, self.key))
        return str(path)


@contextlib.contextmanager
def containers(folder: Path, *names: str, packages: tuple[str, ...]) -> Iterator[ContainerLab]:
    """Containers with these packages that are up; this thread is in their network until they go."""
    with contextlib.ExitStack() as undo:
        yield ContainerLab(folder, names, packages, undo.enter_context(connect()), undo)
