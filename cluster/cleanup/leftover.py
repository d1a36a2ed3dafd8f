"""One thing that a dead run left on this machine, of whichever kind."""

from typing import Literal

import msgspec


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """One thing of a dead run.

    ``what``: for people. ``pid``, ``start_time``: of a process. ``path``: of a home or record. ``name``: what the
    engine knows a container, network or volume by.
    """

    kind: Literal["process", "container", "network", "volume", "home", "record"]
    run_id: str
    what: str
    pid: int = 0
    start_time: int = 0
    path: str = ""
    name: str = ""
