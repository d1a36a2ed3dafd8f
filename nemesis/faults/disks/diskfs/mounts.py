"""Disks of nodes: our file system mounted over each data folder of a node, and the words by which it is spoken to.

The folder beneath stays where it is and holds the files, so whoever reads them from outside sees them as they are. The
file system ends with its mount; it is spoken to over a socket in the host's network namespace.
"""

import hashlib
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.errors import CapabilityError, ChaosError
from cluster.cluster import Node
from cluster.host import Host
from nemesis.c_program import CProgram

TIMEOUT_S: Final = 30.0
PROGRAM: Final = CProgram(
    name="diskfs",
    what="the file system of disk faults",
    sources=Path(__file__).parent / "fs",
    on_host=".diskfs",
    flags=("-pthread",),
)
KEPT: Final = ".chaos-canary-kept"
"""A file that is written and synced when a disk is made: no power failure may touch it."""
HELP: Final = "chmod 0666 /dev/fuse as root, after modprobe fuse"

ARM: Final = f"""\
mkdir -p "$2" && "$1" mount "$2" "$3" && dd if=/dev/zero of="$2/{KEPT}" bs=4096 count=4 conv=fsync 2>/dev/null
"""
DISARM: Final = """\
[ ! -x "$1" ] || "$1" unmount "$2" || exit
rm -rf "$2"/.chaos-*
"""
# A file that is synced and one that is not, power fails, and only the first may be left; $2 a folder, $3 a socket.
TRY: Final = """\
mkdir -p "$2" && "$1" mount "$2" "$3" || exit
echo kept >"$2/kept" && sync "$2/kept" && echo lost >"$2/lost" && "$1" ask "$3" drop >/dev/null &&
  [ "$(ls "$2")" = kept ] && [ "$(cat "$2/kept")" = kept ] || { echo "what was not synced is still there" >&2; false; }
result=$?; "$1" unmount "$2"; rm -rf "$2"; exit $result
"""


class Disk(msgspec.Struct, frozen=True):
    """One data folder of a node with our file system over it. ``socket``: the name by which it is spoken to."""

    host: Host
    folder: str
    socket: str

    def ask(self, *words: str | float) -> Mapping[str, str]:
        """Say one command; the answer is words of the form ``name=value``.

        Raises:
            DeployError: nobody answers, or the command is refused.
        """
        argv = (PROGRAM.path_in(self.host.home), "ask", self.socket, *map(str, words))
        done = self.host.run(*argv, timeout_s=TIMEOUT_S).check(f"{self.host.name}: its disk")
        return dict(word.split("=", 1) for word in done.text.split())


def disks_of(node: Node) -> tuple[Disk, ...]:
    """The data folders of a node, as disks; a path that the launch writes as a file is none."""
    home = node.host.home
    mark = hashlib.sha256(home.encode()).hexdigest()[:12]
    folders = [path for path in node.launch.data if path not in node.launch.files]
    return tuple(
        Disk(node.host, f"{home}/{path}", f"chaos-diskfs-{mark}-{number}") for number, path in enumerate(folders)
    )


class DiskArming:
    """Mounts the file system over the data folders of a node before its process starts."""

    def arm(self, node: Node) -> None:
        """See ``nemesis.arming.Arming``."""
        disks = disks_of(node)
        if not disks:
            raise CapabilityError(f"{node.name}: it names no data folder, so no fault can hit its disk")
        path = PROGRAM.put_on(node.host)
        for disk in disks:
            done = node.host.run("sh", "-c", ARM, "sh", path, disk.folder, disk.socket, timeout_s=TIMEOUT_S)
            if done.returncode != 0:
                said = " ".join(done.stderr.decode(errors="replace").split())
                raise CapabilityError(f"{node.name}: no file system over {disk.folder}: {said}; {HELP}")

    def disarm(self, node: Node) -> None:
        """See ``nemesis.arming.Arming``."""
        path = PROGRAM.path_in(node.host.home)
        for disk in disks_of(node):
            done = node.host.run("sh", "-c", DISARM, "sh", path, disk.folder, timeout_s=TIMEOUT_S)
            done.check(f"{node.name}: taking the file system off {disk.folder}")


DISKS: Final = DiskArming()


def obstacle(host: Host) -> str | None:
    """Why there can be no such file system on a host, and what helps: one is mounted, and power fails beneath it."""
    mark = f"{secrets.randbits(40):010x}"
    try:
        arguments = (PROGRAM.put_on(host), f"{host.home}/.try-{mark}", f"chaos-diskfs-try-{mark}")
        done = host.run("sh", "-c", TRY, "sh", *arguments, timeout_s=TIMEOUT_S)
    except CapabilityError as error:
        return str(error)
    except ChaosError as error:
        return f"{error}; {HELP}"
    said = " ".join(done.stderr.decode(errors="replace").split()) or f"exit {done.returncode}"
    return None if done.returncode == 0 else f"no file system of ours can be mounted: {said}; {HELP}"
