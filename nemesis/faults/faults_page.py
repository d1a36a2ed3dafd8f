"""The page of faults in the documentation, made from their classes: ``python -m nemesis.faults.faults_page``."""

from collections.abc import Iterator
from typing import Final

from nemesis.faults.admin.admin_fault import action_of
from nemesis.faults.fault import Fault
from nemesis.faults.params import params_of
from nemesis.faults.registry import faults
from nemesis.plan.nemesis_names import catalog

_HEAD = """\
# Faults

Which faults are there, what do they hit, and what can be set? This page is made from the faults' classes
(`python -m nemesis.faults.faults_page`); `chaos list nemeses` says which of them this
machine cannot do.

A nemesis is `NAME[:PARAM=VALUE[,PARAM=VALUE]][@role[+role]]`, e.g. `random-loss:probability=0.5@broker`. In a YAML file
the same is `nemesis: {random-loss@broker: {probability: 0.5}}`.

A value is a number or a word. Where a parameter takes several words, `+` joins them, e.g.
`leader-syscall-error:call=write+fsync,errno=EIO,share=0.2`, in a YAML file
`nemesis: {leader-syscall-error: {call: write+fsync, errno: EIO, share: 0.2}}`.

`leader-` hits the leader of a subject: of a replica group, of a partition, of the controllers. Without a suffix each
fault draws one replica group or partition; `@SUBJECT[+SUBJECT]` names some, `@controller` the controllers, `@all` all
replica groups or partitions at once.
"""


_BESIDE = """\
## Beside other tools

What other tools do to a network and to processes, by their documentation, and what does the same here. OpenChaos runs
`iptables`, `tc netem` and `kill`; Jepsen `iptables` and `tc netem`; Chaos Mesh `tc netem`, `ipset` and its own daemons.

| what is done | OpenChaos | Jepsen | Chaos Mesh | here |
| --- | --- | --- | --- | --- |
"""

BESIDE: Final = (
    ("kill, and start again", "yes", "yes", "yes", "`kill`, `stop`, `restart`"),
    ("pause", "yes", "yes", "yes", "`suspend`, `pause-kill`"),
    ("kill again and again", "no", "by hand", "pod-failure", "`crash-loop`"),
    ("restart one after the other", "no", "by hand", "workflow", "`rolling-restart`"),
    ("little CPU", "no", "no", "load beside it", "`stutter`, `cpu-load`"),
    ("little memory, few descriptors", "no", "no", "memory, by load", "`memory-limit`, `descriptor-limit`"),
    ("a limit of threads, a low priority", "no", "no", "no", "no: rights are needed to undo it"),
    (
        "system calls that fail or wait",
        "no",
        "by a file system",
        "by a file system",
        "`syscall-error`, `syscall-delay`",
    ),
    ("cuts, both ways", "yes", "yes", "yes", "`partition`"),
    ("cuts, one way", "by accident", "yes", "yes", "`partition-in`, `partition-out`"),
    ("cuts that come and go by themselves", "no", "by hand", "schedule", "`flap`; also a sequence of steps"),
    ("a cut that heals link by link", "no", "by hand", "workflow", "`staged-heal`"),
    ("loss", "yes", "yes", "yes", "`loss`, `loss-in`, `loss-out`"),
    ("loss in bursts", "no", "by correlation", "by correlation", "`burst-loss`"),
    ("delay", "yes", "yes", "yes", "`delay`"),
    ("twice, altered, out of order", "no", "yes", "yes", "`duplicate`, `corrupt`, `reorder`"),
    ("wrong bytes that reach a process", "no", "no", "no", "`corrupt:checksum=right`"),
    ("a rate", "no", "yes", "yes", "`throttle`"),
    ("connections reset, refused, cut", "no", "no", "HTTP only", "`reset`, `refuse`, `cut-after`"),
    ("only new connections, large packets, a port", "no", "no", "no", "`syn-drop`, `large-drop`, `block-port`"),
    ("another time", "no", "yes, of the machine", "yes", "`clock-jump`"),
    ("a clock that jumps to and fro", "no", "yes, of the machine", "no", "`clock-strobe`"),
    ("a clock that drifts", "no", "no", "no", "`clock-drift`"),
    ("clocks that disagree", "no", "yes, of the machine", "by hand", "`clock-offset`"),
    ("names that do not resolve, or wrongly", "no", "no", "yes", "no: every system here is told addresses"),
    (
        "routes, ARP entries, MTU, ephemeral ports",
        "no",
        "no",
        "no",
        "`blackhole`, `wrong-arp`, `mtu`, `port-exhaustion`",
    ),
    ("a full table of connections or backlog", "no", "no", "no", "not yet"),
)
"""What is done, by whom; the last column names faults of ours in backquotes."""


def page() -> str:
    """The page, in Markdown."""
    table = _BESIDE + "".join(f"| {' | '.join(row)} |\n" for row in BESIDE)
    return "\n".join([_HEAD, *(line for fault in faults().values() for line in _section(fault)), table])


def _section(fault: type[Fault]) -> Iterator[str]:
    yield f"## {fault.name}\n"
    said = fault.help.format("the targets")
    yield f"{said[0].upper()}{said[1:]}. It hits {fault.hits}.\n"
    yield "Names: " + ", ".join(f"`{one.name}`" for one in catalog().values() if one.fault == fault.name) + ".\n"
    if fault.needs:
        yield f"Hosts need: {', '.join(sorted(fault.needs))}.\n"
    if action := action_of(fault):
        yield f"The system's admin interface must offer: {action}.\n"
    if fault.container is not None:
        yield f"With `--kill container`: {fault.container.help.format('the targets')}.\n"
    if params_of(fault.Params):
        yield "| parameter | default | may be | meaning |"
        yield "| --- | --- | --- | --- |"
        yield from (
            f"| `{one.name}` | {one.typed_default} | {one.range} | {one.help} |" for one in params_of(fault.Params)
        )
        yield ""


if __name__ == "__main__":
    print(page(), end="")
