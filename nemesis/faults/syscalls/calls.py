"""The system calls that can be hit, by the names of parameters: each stands for calls that do the same.

Not among them: what would end a process in ways that no kernel does (``exit``, ``rt_sigreturn``, ``execve``, ``futex``,
``set_robust_list`` and their like), and what is answered without the kernel (``clock_gettime`` and others of the vDSO).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta

GROUPS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "open": ("open", "openat", "openat2", "creat"),
        "read": ("read", "readv"),
        "pread": ("pread64", "preadv", "preadv2"),
        "write": ("write", "writev"),
        "pwrite": ("pwrite64", "pwritev", "pwritev2"),
        "fsync": ("fsync",),
        "fdatasync": ("fdatasync",),
        "msync": ("msync",),
        "fallocate": ("fallocate",),
        "truncate": ("truncate", "ftruncate"),
        "rename": ("rename", "renameat", "renameat2"),
        "unlink": ("unlink", "unlinkat"),
        "mmap": ("mmap",),
        "socket": ("socket",),
        "connect": ("connect",),
        "accept": ("accept", "accept4"),
        "send": ("sendto", "sendmsg", "sendmmsg"),
        "recv": ("recvfrom", "recvmsg", "recvmmsg"),
        "clone": ("clone", "clone3"),
        "io_uring_enter": ("io_uring_enter",),
    }
)
"""Name of the parameter → the calls. The C sources beside this module know each of them."""

PROBED: Final[Mapping[str, str]] = MappingProxyType(
    {
        name: {"open": "openat", "rename": "renameat2", "unlink": "unlinkat"}.get(name, calls[0])
        for name, calls in GROUPS.items()
    }
)
"""The call of each group that a probe makes: one that there is on every machine."""

UNNAMED: Final = ("fsync", "fdatasync")
"""What is hit where no call is named."""

Every = Annotated[int, Meta(ge=0, le=1_000, description="hit every so many-th one; 0: none")]


class Calls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which calls are hit; where none is named, each fsync and fdatasync. ``probability``: of those, a share."""

    open: Every = 0
    read: Every = 0
    pread: Every = 0
    write: Every = 0
    pwrite: Every = 0
    fsync: Every = 0
    fdatasync: Every = 0
    msync: Every = 0
    fallocate: Every = 0
    truncate: Every = 0
    rename: Every = 0
    unlink: Every = 0
    mmap: Every = 0
    socket: Every = 0
    connect: Every = 0
    accept: Every = 0
    send: Every = 0
    recv: Every = 0
    clone: Every = 0
    io_uring_enter: Every = 0
    probability: Annotated[float, Meta(ge=0, le=1, description="and of these only such a share, drawn")] = 1.0

    def every(self) -> dict[str, int]:
        """Which calls are hit, by the names of parameters: every so many-th."""
        named = {name: int(getattr(self, name)) for name in GROUPS if getattr(self, name)}
        return named or dict.fromkeys(UNNAMED, 1)


def members(names: frozenset[str]) -> str:
    """The calls of these parameters, as the supervisor reads them: ``fdatasync+fsync``."""
    return "+".join(call for name in GROUPS if name in names for call in GROUPS[name])
