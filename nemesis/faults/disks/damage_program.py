"""The program that damages the files of a stopped node, and that tells how files are: by what they hold.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.disks.damage``; its one argument is JSON::

    {"do": "digest", "paths": ["…/data"]}                                     -> {"…/data/log": "a3f…", …}
    {"do": "flip", "paths": ["…/data"], "seed": "b1", "count": 8}             -> {"…/data/log": [[1234, 5], …]}
    {"do": "cut", "paths": ["…/data"], "bytes": 100}                          -> {"…/data/log": [9000, 8900]}

``flip`` turns bits of bytes that are not zero, drawn from the seed. ``cut`` shortens the file that was changed last, so
many bytes before the last byte that is not zero. Holes of sparse files are not read.
"""

import hashlib
import json
import os
import random
import sys
from collections.abc import Iterator

_PIECE = 1 << 20
_TRIES = 10_000


def files_in(paths: list[str]) -> list[str]:
    """All files with something in them, in their order."""
    found = [path for path in paths if os.path.isfile(path)]  # noqa: PTH113 - pathlib would double the start-up
    for path in paths:
        for at, _, names in os.walk(path):
            found += [os.path.join(at, name) for name in names]  # noqa: PTH118
    ours = "/.chaos-"
    return sorted(path for path in found if ours not in path and os.path.isfile(path) and os.path.getsize(path))  # noqa: PTH113, PTH202


def _extents(fd: int) -> Iterator[tuple[int, int]]:
    """Where a file holds something: (from, to)."""
    end, at = os.fstat(fd).st_size, 0
    while at < end:
        try:
            begin = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:
            return
        at = os.lseek(fd, begin, os.SEEK_HOLE)
        yield begin, at


def digest(path: str) -> str:
    """The size and a hash of all that is not zero."""
    found = hashlib.sha256(str(os.path.getsize(path)).encode())  # noqa: PTH202
    with open(path, "rb") as file:  # noqa: PTH123
        for begin, end in _extents(file.fileno()):
            for at in range(begin, end, _PIECE):
                piece = os.pread(file.fileno(), min(_PIECE, end - at), at)
                if piece.strip(b"\0"):
                    found.update(b"%d:" % at + piece)
    return found.hexdigest()


def _last_byte(fd: int) -> int:
    """One more than the place of the last byte that is not zero; 0 if all are."""
    for begin, end in reversed(list(_extents(fd))):
        for at in range(end - 1 - (end - 1 - begin) % _PIECE, begin - 1, -_PIECE):
            held = os.pread(fd, min(_PIECE, end - at), at).rstrip(b"\0")
            if held:
                return at + len(held)
    return 0


def flip(paths: list[str], seed: str, count: int) -> dict[str, list[list[int]]]:
    """Turn ``count`` bits; fewer where there is too little that is not zero."""
    drawn, files = random.Random(seed), files_in(paths)
    turned: dict[str, list[list[int]]] = {}
    for _ in range(_TRIES):
        if not files or sum(map(len, turned.values())) == count:
            break
        path = drawn.choice(files)
        with open(path, "r+b", buffering=0) as file:  # noqa: PTH123
            begin, end = drawn.choice(list(_extents(file.fileno())) or [(0, 1)])
            at, bit = drawn.randrange(begin, end), drawn.randrange(8)
            byte = os.pread(file.fileno(), 1, at)
            if byte.strip(b"\0") and [at, bit] not in turned.get(path, []):
                os.pwrite(file.fileno(), bytes([byte[0] ^ 1 << bit]), at)
                os.fsync(file.fileno())
                turned.setdefault(path, []).append([at, bit])
    return turned


def cut(paths: list[str], count: int) -> dict[str, list[int]]:
    """Shorten the file that was changed last; nothing if none is long enough."""
    for path in sorted(files_in(paths), key=lambda path: -os.path.getmtime(path)):  # noqa: PTH204
        with open(path, "r+b", buffering=0) as file:  # noqa: PTH123
            last = _last_byte(file.fileno())
            if last > count:
                size = os.fstat(file.fileno()).st_size
                os.ftruncate(file.fileno(), last - count)
                os.fsync(file.fileno())
                return {path: [size, last - count]}
    return {}


def main(orders: dict[str, object]) -> object:
    """Do what is asked for."""
    paths = list(map(str, orders["paths"]))  # type: ignore[call-overload]
    if orders["do"] == "flip":
        return flip(paths, str(orders["seed"]), int(str(orders["count"])))
    if orders["do"] == "cut":
        return cut(paths, int(str(orders["bytes"])))
    return {path: digest(path) for path in files_in(paths)}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
