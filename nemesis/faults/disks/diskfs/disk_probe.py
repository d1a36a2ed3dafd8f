"""The program that looks at a disk from a host: writes, syncs and reads a file, and tells what came of it.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.disks.disk_fault``; its one argument is JSON::

    {"file": "…/data/.chaos-canary-1", "count": 20}
    -> {"free": 12345, "create": {"errors": {}, "ms": [0.1]}, "write": {"errors": {"28": 20}, "short": 0, "ms": []}, …}

``errors``: errno to how often; ``ms``: how long each took that went well; ``short``: how many wrote or read less than
they were asked to. The file is there before and stays; another is made beside it and removed.
"""

import json
import os
import sys
import time
from collections.abc import Callable

SIZE = 8192


class Seen:
    """What came of one kind of operation."""

    def __init__(self) -> None:
        self.errors: dict[str, int] = {}
        self.short = 0
        self.ms: list[float] = []

    def do(self, action: Callable[[], int]) -> None:
        """Do it once; the action returns how many bytes it moved."""
        began = time.monotonic()
        try:
            moved = action()
        except OSError as error:
            self.errors[str(error.errno)] = self.errors.get(str(error.errno), 0) + 1
        else:
            self.ms.append((time.monotonic() - began) * 1e3)
            self.short += moved < SIZE


def _create(path: str) -> int:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    return SIZE


def _read(path: str) -> int:
    """Past what the kernel keeps: a file that is opened anew is read anew."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return len(os.pread(fd, SIZE, 0))
    finally:
        os.close(fd)


def _sync(fd: int) -> int:
    os.fsync(fd)
    return SIZE


def main(orders: dict[str, str | int]) -> dict[str, object]:
    """Look as often as is asked for."""
    path, count = str(orders["file"]), int(orders["count"])
    kinds = {name: Seen() for name in ("create", "write", "fsync", "read")}
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError as error:
        fd = -1
        kinds["write"].errors[str(error.errno)] = count
    beside = f"{path}-beside"
    kinds["create"].do(lambda: _create(beside))
    for _ in range(count):
        if fd >= 0:
            kinds["write"].do(lambda: os.pwrite(fd, bytes(SIZE), 0))
            kinds["fsync"].do(lambda: _sync(fd))
        kinds["read"].do(lambda: _read(path))
    if os.path.exists(beside):  # noqa: PTH110 - pathlib would double the start-up
        try:
            os.remove(beside)  # noqa: PTH107
        except OSError as error:
            kinds["create"].errors[str(error.errno)] = 1
    free = os.statvfs(os.path.dirname(path)).f_bavail  # noqa: PTH120
    return {"free": free, **{name: vars(seen) for name, seen in kinds.items()}}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
