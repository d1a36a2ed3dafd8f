"""The disks of one node as a fault sees them: acted on together, and looked at by plain programs on the host."""

from typing import Final

from cluster.cluster import Node
from nemesis.faults.disks.diskfs.mounts import KEPT, TIMEOUT_S, disks_of

CANARY_BYTES: Final = 65536
KEPT_BYTES: Final = 16384
WRITE_UNSYNCED: Final = 'for disk; do dd if=/dev/urandom of="$disk" bs=4096 count=16 2>/dev/null || exit; done'
COUNT: Final = 'for file; do if [ -f "$file" ]; then wc -c <"$file"; else echo 0; fi; done'
WORKS: Final = """\
for disk; do
  dd if=/dev/zero of="$disk/.chaos-canary-works" bs=4096 count=1 conv=fsync 2>/dev/null &&
    [ "$(wc -c <"$disk/.chaos-canary-works")" = 4096 ] && rm "$disk/.chaos-canary-works" || { echo "$disk"; exit 1; }
done
"""


class NodeDisks:
    """The disks of one node. ``token``: tells the files of one fault from those of another."""

    def __init__(self, node: Node, token: str) -> None:
        self._host = node.host
        self._disks = disks_of(node)
        self._canaries = [f"{disk.folder}/.chaos-canary-{token}" for disk in self._disks]

    def write_canary(self) -> None:
        """Write a file to each disk and do not sync it."""
        done = self._host.run("sh", "-c", WRITE_UNSYNCED, "sh", *self._canaries, timeout_s=TIMEOUT_S)
        done.check(f"{self._host.name}: writing to its disk")

    def stop(self) -> None:
        """From now on whoever asks a disk gets no answer, until ``go_on``, or until it is killed."""
        for disk in self._disks:
            disk.ask("crash")

    def go_on(self) -> None:
        """Let the disks answer again; fine if they do."""
        for disk in self._disks:
            disk.ask("revive")

    def lose_unsynced(self, kept_percent: int) -> str:
        """Take back what was not synced; how much that was, in words."""
        lost = [disk.ask("drop", kept_percent) for disk in self._disks]
        files, size, names = (sum(int(one[word]) for one in lost) for word in ("files", "bytes", "names"))
        return f"{size:,} unsynced bytes in {files} files and {names} changes of names lost"

    def canary_lost(self) -> tuple[bool, str]:
        """Whether what was not synced is gone, and what was synced is there; looked at by ``wc``."""
        kept = [f"{disk.folder}/{KEPT}" for disk in self._disks]
        done = self._host.run("sh", "-c", COUNT, "sh", *self._canaries, *kept, timeout_s=TIMEOUT_S)
        sizes = [int(word) for word in done.check(f"{self._host.name}: looking at its disk").text.split()]
        unsynced, synced = sizes[: len(kept)], sizes[len(kept) :]
        lost = all(size < CANARY_BYTES for size in unsynced)
        whole = all(size == KEPT_BYTES for size in synced)
        said = f"of {CANARY_BYTES:,} bytes written without a sync {max(unsynced):,} are left"
        return lost and whole, f"{said}, a synced file is {'whole' if whole else 'NOT whole'}"

    def works(self) -> tuple[bool, str]:
        """Whether each disk takes and keeps bytes, and no fault is left on it."""
        left = [word for disk in self._disks for word, value in disk.ask("rules").items() if value != "0"]
        if left:
            return False, f"its disk still has {' '.join(left)}"
        folders = [disk.folder for disk in self._disks]
        done = self._host.run("sh", "-c", WORKS, "sh", *folders, timeout_s=TIMEOUT_S)
        return done.returncode == 0, "its disk works" if done.returncode == 0 else f"cannot write to {done.text}"
