"""Notes on nodes' processes: written by the harness when it looks at them, read by the checks.

The module does not look and does not judge; it only holds the shapes of what is written down.
"""

from typing import Final

import msgspec

from chaos.core.events import Note

ENDED: Final = "ended"
"""In the evidence of a heal (``details["failed"]``): the node's process was running and ended by itself."""
SILENT: Final = "silent"
"""The same: the node's process lives and has not said that it serves."""

NODE_ENDED: Final = "node-ended"
NODE_RESTARTED: Final = "node-restarted"
"""A process had ended by itself and something other than the harness, a supervisor, had started it again."""
NODES_LOOKED_AT: Final = "nodes-looked-at"
OBSERVER_ENDED: Final = "observer-ended"
"""The process that asks nodes who leads has ended by itself: nothing was observed from then on."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The harness' look at all nodes at the end of the recovery.

    ``dead``: nodes whose process does not run. ``cut``: links on which probes of ours were lost, ``a>b``. ``waited``:
    node → of the time that it wanted a CPU since ``since_ns``, the beginning of the recovery, the share in which it had
    to wait, for nodes that could be measured; 0 if it had little to do.
    """

    time_ns: int
    since_ns: int = 0
    dead: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    waited: dict[str, float] = {}


def ended_note(time_ns: int, node: str, last_line: str, excuse: str) -> Note:
    """A process was found ended though nothing had ended it since its last start.

    Args:
        time_ns: when it was found.
        node: whose it is.
        last_line: the last line of its log.
        excuse: why that may not be the system's doing; empty if nothing is known.
    """
    data = {"last_line": last_line, "excuse": excuse}
    return Note(time_ns=time_ns, name=NODE_ENDED, node=node, text="ended by itself", data=data)


def look_note(look: Look) -> Note:
    """A look at all nodes."""
    text = f"not running: {' '.join(look.dead)}" if look.dead else "every process runs"
    text += f", probes are lost on {' '.join(look.cut)}" if look.cut else ", every link passes all probes"
    return Note(time_ns=look.time_ns, name=NODES_LOOKED_AT, text=text, data=msgspec.to_builtins(look))
