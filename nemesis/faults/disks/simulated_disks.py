"""What the programs and scripts of faults of disks do on simulated machines (see ``cluster.simulation.commands``)."""

import errno
import fnmatch
import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import msgspec

from chaos.core import waiting
from cluster.disk_operations import Action
from cluster.simulation.commands import Answer, CommandFailed
from cluster.simulation.disk import BLOCK, FREE_BLOCKS, DiskRule, SimulatedDisk
from cluster.simulation.machine import Machine
from nemesis.faults.disks.diskfs import disk_checks, mounts
from nemesis.faults.disks.diskfs.disk_probe import SIZE
from nemesis.faults.disks.file_pattern import EVERY

OPERATION_MS: Final = 0.05
"""How long a probe's operation takes on a disk that nothing slows down."""

_BITS: Final = 8
_TRIES: Final = 10_000
_OURS: Final = "/.chaos-"
_KILLED: Final = 137
_US_PER_S: Final = 1_000_000


def nothing(_machine: Machine, _arguments: Sequence[str], _stdin: bytes) -> str:
    """It goes well, and there is nothing to be seen of it."""
    return ""


# ---------------------------------------------------------------- the file system beneath a node's data


def _arm(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    _, folder, socket = arguments
    machine.disk_roots[socket] = folder
    machine.disk.put(f"{folder}/{mounts.KEPT}", bytes(disk_checks.KEPT_BYTES))
    return ""


def _ask(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    _, socket, word, *rest = arguments
    if word not in _WORDS:
        raise CommandFailed(1, f"a simulated disk knows no {word}")
    return _WORDS[word](machine, socket, rest)


def _rule(machine: Machine, socket: str, words: Sequence[str]) -> str:
    number, ops, share, skip, times, action, value, pattern = words
    if action not in get_args(Action):
        raise CommandFailed(1, f"a simulated disk cannot {action}")
    head = f"{machine.disk_roots[socket]}/"

    def applies(path: str) -> bool:
        if not path.startswith(head):
            return False
        return pattern == EVERY or fnmatch.fnmatchcase(path.removeprefix(head), pattern)

    machine.disk.rules[socket, number] = DiskRule(
        ops=int(ops),
        action=msgspec.convert(action, Action),
        value=int(value),
        share=float(share),
        skip=int(skip),
        times=int(times),
        applies=applies,
    )
    return ""


def _unrule(machine: Machine, socket: str, words: Sequence[str]) -> str:
    machine.disk.rules.pop((socket, words[0]), None)
    machine.release_disk()
    return ""


def _rules(machine: Machine, socket: str, _words: Sequence[str]) -> str:
    own = {number: rule for (disk, number), rule in machine.disk.rules.items() if disk == socket}
    counts = [f"matched.{number}={rule.matched} hit.{number}={rule.hit}" for number, rule in own.items()]
    return " ".join([f"rules={len(own)}", f"crashed={int(machine.disk_stands or machine.disk.crashed)}", *counts])


def _crash(machine: Machine, _socket: str, _words: Sequence[str]) -> str:
    machine.stop_disk()
    return ""


def _revive(machine: Machine, _socket: str, _words: Sequence[str]) -> str:
    machine.go_on_with_disk()
    return ""


def _drop(machine: Machine, _socket: str, words: Sequence[str]) -> str:
    lost = machine.disk.lose_unsynced(int(words[0]) / 100)
    return f"files={lost.files} bytes={lost.bytes} names={lost.names}"


_WORDS: Final[Mapping[str, Callable[[Machine, str, Sequence[str]], str]]] = {
    "rule": _rule,
    "unrule": _unrule,
    "rules": _rules,
    "crash": _crash,
    "revive": _revive,
    "drop": _drop,
}


# ---------------------------------------------------------------- plain programs on a disk


def _write(disk: SimulatedDisk, path: str, data: bytes, *, synced: bool) -> None:
    try:
        disk.write_anew(Path(path), data)
        if synced:
            fd = disk.open(Path(path))
            try:
                disk.sync(fd)
            finally:
                disk.close(fd)
    except OSError as error:
        raise CommandFailed(1, str(error)) from None


def _write_unsynced(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    for path in arguments:
        _write(machine.disk, path, b"\1" * disk_checks.CANARY_BYTES, synced=False)
    return ""


def _count(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    return "\n".join(str(len(machine.disk.held([path]).get(path, b""))) for path in arguments)


def _works(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    for folder in arguments:
        path = f"{folder}/.chaos-canary-works"
        _write(machine.disk, path, bytes(BLOCK), synced=True)
        machine.disk.empty([path])
    return ""


def dd(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    """A file of zeros."""
    words = dict(word.split("=", 1) for word in arguments)
    _write(machine.disk, words["of"], bytes(int(words["bs"]) * int(words["count"])), synced=False)
    return ""


def sync_in_time(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    """``timeout -s KILL SECONDS sync FILE``: whether a sync of a file comes back."""
    seconds, path = float(arguments[2]), arguments[-1]
    disk = machine.disk
    disk.stalled, disk.late_us = False, 0
    _sync(disk, path)
    late_s = disk.late_us / _US_PER_S
    waiting.sleep(min(seconds, late_s) if not disk.stalled else seconds)
    if disk.stalled or late_s > seconds:
        raise CommandFailed(_KILLED)
    return ""


def _sync(disk: SimulatedDisk, path: str) -> int:
    fd = disk.open(Path(path))
    try:
        disk.sync(fd)
    finally:
        disk.close(fd)
    return SIZE


def _write_once(disk: SimulatedDisk, path: str) -> int:
    fd = disk.open(Path(path))
    try:
        return disk.write_at(fd, bytes(SIZE), 0)
    finally:
        disk.close(fd)


def _create(disk: SimulatedDisk, path: str) -> int:
    disk.write_anew(Path(path), b"")
    return SIZE


def probe(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    """``disk_probe``: what comes of writing, syncing and reading a file."""
    orders, disk = json.loads(arguments[0]), machine.disk
    path, count = orders["file"], int(orders["count"])
    acts: Mapping[str, Callable[[], int]] = {
        "create": lambda: _create(disk, f"{path}-beside"),
        "write": lambda: _write_once(disk, path),
        "fsync": lambda: _sync(disk, path),
        "read": lambda: len(disk.read(Path(path))[:SIZE]),
    }
    seen: dict[str, Any] = {name: {"errors": {}, "short": 0, "ms": []} for name in acts}
    for name, act in acts.items():
        for _ in range(1 if name == "create" else count):
            _do(disk, act, seen[name])
    disk.empty([f"{path}-beside"])
    waiting.sleep(sum(sum(one["ms"]) for one in seen.values()) / 1e3)
    full = any(rule.action == "error" and rule.value == errno.ENOSPC for rule in disk.rules.values())
    return json.dumps({"free": 0 if full else FREE_BLOCKS, **seen})


def _do(disk: SimulatedDisk, act: Callable[[], int], seen: dict[str, Any]) -> None:
    disk.late_us = 0
    try:
        moved = act()
    except OSError as error:
        word = str(error.errno)
        seen["errors"][word] = seen["errors"].get(word, 0) + 1
    else:
        seen["ms"].append(OPERATION_MS + disk.late_us / 1e3)
        seen["short"] += moved < SIZE


# ---------------------------------------------------------------- the files of a node that is down


def _paths(arguments: Sequence[str]) -> tuple[str, str, list[str]]:
    """The home, the folder of a copy, and the paths of data."""
    home, copy, *paths = arguments
    return home, f"{home}/{copy}", [f"{home}/{path}" for path in paths]


def keep(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    """Keep a copy of the data."""
    home, copy, paths = _paths(arguments)
    for path, data in machine.disk.held(paths).items():
        machine.disk.put(f"{copy}{path.removeprefix(home)}", data)
    return ""


def empty(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    """Remove the data."""
    machine.disk.empty(_paths(arguments)[2])
    return ""


def restore(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    """Have the copy in the place of the data."""
    home, copy, paths = _paths(arguments)
    machine.disk.empty(paths)
    for path, data in machine.disk.held([copy]).items():
        machine.disk.put(f"{home}{path.removeprefix(copy)}", data)
    return ""


def pack(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    """Keep the data as one file, which can be fetched."""
    home, copy, paths = _paths(arguments)
    held = {path.removeprefix(f"{home}/"): data for path, data in machine.disk.held(paths).items()}
    machine.files[f"{copy.removeprefix(f'{home}/')}.tar"] = msgspec.msgpack.encode(held)
    return ""


def unpack(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    """Have what such a file holds in the place of the data."""
    home, copy, paths = _paths(arguments)
    held = msgspec.msgpack.decode(machine.files[f"{copy.removeprefix(f'{home}/')}.tar"], type=dict[str, bytes])
    machine.disk.empty(paths)
    for path, data in held.items():
        machine.disk.put(f"{home}/{path}", data)
    return ""


def damage(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    """``damage_program``: tell how files are, turn bits in them, or cut the one that was changed last."""
    orders = json.loads(arguments[0])
    disk, paths = machine.disk, orders["paths"]
    held = {path: data for path, data in disk.held(paths).items() if data and _OURS not in path}
    if orders["do"] == "flip":
        return json.dumps(_flip(disk, held, orders["seed"], orders["count"]))
    if orders["do"] == "cut":
        return json.dumps(_cut(disk, [path for path in disk.newest(paths) if path in held], orders["bytes"]))
    return json.dumps({path: hashlib.sha256(data).hexdigest() for path, data in held.items()})


def _flip(disk: SimulatedDisk, held: Mapping[str, bytes], seed: str, count: int) -> dict[str, list[tuple[int, int]]]:
    drawn, paths = random.Random(seed), list(held)
    turned: dict[str, list[tuple[int, int]]] = {}
    for _ in range(_TRIES):
        if not paths or sum(map(len, turned.values())) == count:
            break
        path = drawn.choice(paths)
        place = drawn.randrange(len(held[path])), drawn.randrange(_BITS)
        if held[path][place[0]] and place not in turned.get(path, []):
            turned.setdefault(path, []).append(place)
    for path, places in turned.items():
        data = bytearray(held[path])
        for at, bit in places:
            data[at] ^= 1 << bit
        disk.put(path, bytes(data))
    return turned


def _cut(disk: SimulatedDisk, paths: Sequence[str], count: int) -> dict[str, tuple[int, int]]:
    for path in paths:
        data = disk.held([path])[path]
        last = len(data.rstrip(b"\0"))
        if last > count:
            disk.put(path, data[: last - count])
            return {path: (len(data), last - count)}
    return {}


DISK: Final[Mapping[str, Answer]] = {
    mounts.PROGRAM.on_host: _ask,
    mounts.ARM: _arm,
    mounts.DISARM: nothing,
    mounts.TRY: nothing,
    disk_checks.WRITE_UNSYNCED: _write_unsynced,
    disk_checks.COUNT: _count,
    disk_checks.WORKS: _works,
}
"""The file system of faults of disks, and the looks at what it holds."""
