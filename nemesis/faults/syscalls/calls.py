"""The system calls that can be hit, by the words that name them: each stands for calls that do the same.

Not among them: what would end a process in ways that no kernel does (``exit``, ``rt_sigreturn``, ``execve``, ``futex``,
``set_robust_list`` and their like), and what is answered without the kernel (``clock_gettime`` and others of the vDSO).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

# fmt: off
Call = Literal[
    "open", "read", "pread", "write", "pwrite", "fsync", "fdatasync", "msync", "fallocate", "truncate", "rename",
    "unlink", "mmap", "socket", "connect", "accept", "send", "recv", "clone", "io_uring_enter",
]
# fmt: on

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
"""Word → the calls. The C sources beside this module know each of them."""

PROBED: Final[Mapping[str, str]] = MappingProxyType(
    {
        name: {"open": "openat", "rename": "renameat2", "unlink": "unlinkat"}.get(name, calls[0])
        for name, calls in GROUPS.items()
    }
)
"""The call of each group that a probe makes: one that there is on every machine."""


class Calls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which calls are hit: of each kind every so many-th, by a count of its own, and of those a share."""

    call: Annotated[tuple[Call, ...], Meta(description="which calls are hit")] = ("fsync", "fdatasync")
    every: Annotated[int, Meta(ge=1, le=1_000, description="hit every so many-th of each")] = 1
    share: Annotated[float, Meta(ge=0, le=1, description="and of these only such a share, drawn; 0 does nothing")] = 1.0


def members(names: frozenset[str]) -> str:
    """The calls of these words, as the supervisor reads them: ``fdatasync+fsync``."""
    return "+".join(call for name in GROUPS if name in names for call in GROUPS[name])
