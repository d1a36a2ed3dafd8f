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
replica groups or partitions at once. `follower-` hits a node of the subject that does not lead it, drawn among them; it
takes the same suffixes, and is in no mix that does not name it.
"""


_BESIDE = """\
## Beside other tools

What other tools do to networks, processes, clocks and disks, by their documentation, and what does the same here.
OpenChaos runs `iptables`, `tc netem` and `kill`; Jepsen `iptables` and `tc netem`; Chaos Mesh `tc netem`, `ipset` and
its own daemons, on machines chaosd. The column "also" names lazyfs and etcd's own robustness tests.

| what is done | OpenChaos | Jepsen | Chaos Mesh | also | here |
| --- | --- | --- | --- | --- | --- |
"""

BESIDE: Final = (
    ("kill, and start again", "yes", "yes", "yes", "etcd", "`kill`, `stop`, `restart`"),
    ("pause", "yes", "yes", "yes", "", "`suspend`, `pause-kill`"),
    ("kill again and again", "no", "by hand", "pod-failure", "", "`crash-loop`"),
    ("restart one after the other", "no", "by hand", "workflow", "", "`rolling-restart`"),
    ("little CPU", "no", "no", "load beside it", "", "`stutter`, `cpu-load`"),
    ("a low priority", "no", "no", "no", "", "`priority`"),
    ("little memory", "no", "by hand", "load beside it", "", "`memory-limit`, `memory-load`"),
    ("few descriptors", "no", "no", "no", "", "`descriptor-limit`"),
    ("no new threads", "no", "no", "no", "", "`syscall-error:call=clone,errno=EAGAIN`"),
    (
        "system calls that fail or wait",
        "no",
        "by a file system",
        "by a file system, in the kernel",
        "",
        "`syscall-error`, `syscall-delay`",
    ),
    ("cuts, both ways", "yes", "yes", "yes", "etcd", "`partition`"),
    ("cuts, one way", "by accident", "yes", "yes", "etcd", "`partition-in`, `partition-out`"),
    ("cuts of clients", "no", "by hand", "yes", "", "`disconnect`, which cuts off the others as well"),
    ("cuts that come and go by themselves", "no", "by hand", "schedule", "", "`flap`; also a sequence of steps"),
    ("a cut that heals link by link", "no", "by hand", "workflow", "", "`staged-heal`"),
    (
        "a cut until a member needs a snapshot",
        "no",
        "no",
        "no",
        "etcd",
        "no: a cut lasts as long as it is told; `partition`, and a setting that keeps few entries",
    ),
    ("loss", "yes", "yes", "yes", "etcd", "`loss`, `loss-in`, `loss-out`"),
    ("loss in bursts", "no", "by correlation", "by correlation", "", "`burst-loss`"),
    ("delay", "yes", "yes", "yes", "etcd", "`delay`"),
    ("twice, altered, out of order", "no", "yes", "yes", "", "`duplicate`, `corrupt`, `reorder`"),
    ("wrong bytes that reach a process", "no", "no", "no", "", "`corrupt:checksum=right`"),
    ("a rate", "no", "yes", "yes", "", "`throttle`"),
    (
        "a flood of traffic",
        "no",
        "no",
        "chaosd",
        "",
        "no: it would slow the harness on the same machine as well; `throttle` leaves as little of a link",
    ),
    ("connections reset, refused, cut", "no", "no", "HTTP only", "", "`reset`, `refuse`, `cut-after`"),
    ("HTTP requests answered wrongly", "no", "no", "yes", "", "no: systems here speak protocols of their own"),
    ("only new connections, large packets, a port", "no", "no", "no", "", "`syn-drop`, `large-drop`, `block-port`"),
    (
        "routes, ARP entries, MTU, ephemeral ports",
        "no",
        "no",
        "no",
        "",
        "`blackhole`, `wrong-arp`, `mtu`, `port-exhaustion`",
    ),
    (
        "a port of a node's that another program has",
        "no",
        "no",
        "chaosd",
        "",
        "no: only a node that starts meets it, and then does not serve, as after `kill`",
    ),
    ("a full table of connections or backlog", "no", "no", "no", "", "`conntrack`, `backlog`"),
    ("names that do not resolve, or wrongly", "no", "no", "yes", "", "no: every system here is told addresses"),
    ("another time", "no", "yes, of the machine", "yes", "", "`clock-jump`"),
    ("a clock that jumps to and fro", "no", "yes, of the machine", "no", "", "`clock-strobe`"),
    ("a clock that drifts", "no", "by libfaketime", "no", "", "`clock-drift`"),
    ("clocks that disagree", "no", "yes, of the machine", "by hand", "", "`clock-offset`"),
    ("what was not synced is gone", "no", "by lazyfs", "no", "lazyfs; etcd by it", "`power-failure`"),
    ("a crash at an operation on files", "no", "by lazyfs", "no", "lazyfs", "`crash-at-fsync`, `crash-at-rename`"),
    (
        "the same at files of a pattern",
        "no",
        "by lazyfs",
        "no",
        "lazyfs",
        "`crash-at-fsync:path=*.wal`",
    ),
    (
        "the same at other operations, and after an operation",
        "no",
        "by lazyfs",
        "no",
        "lazyfs",
        (
            "no: `crash-at-fsync` and `crash-at-rename` come before the k-th is done; only these two make anything "
            "durable or visible, so the disk is as before one of them also when a crash comes after or elsewhere"
        ),
    ),
    (
        "writes that are torn or out of order",
        "no",
        "by lazyfs",
        "no",
        "lazyfs",
        "`power-failure:kept=0.5`, `disk-short-write`",
    ),
    (
        "a cache of pages emptied, or synced, at a moment",
        "no",
        "by lazyfs",
        "no",
        "lazyfs",
        "no: without a failure no program can tell",
    ),
    (
        "operations on files that fail or are slow",
        "no",
        "by CharybdeFS",
        "yes",
        "",
        "`disk-error`, `disk-slow`, `disk-stall`",
    ),
    (
        "the same by kind of operation, and by path",
        "no",
        "no",
        "yes",
        "lazyfs",
        (
            "`disk-error:op=write,path=*.wal`, `disk-slow`, `disk-stall`, `disk-short-write`; "
            "`syscall-error` by kind alone"
        ),
    ),
    (
        "wrong bytes in what a running process reads or writes",
        "no",
        "no",
        "yes",
        "",
        (
            "no: most of what a process reads again comes from the kernel's memory, past any file system; `bit-flip` "
            "damages what was written before the next start reads it"
        ),
    ),
    (
        "other programs that load the disk",
        "no",
        "no",
        "chaosd",
        "",
        "no: hosts share their disk with the harness; `disk-slow` is what a process sees of it",
    ),
    ("a full disk, a read-only one", "no", "by CharybdeFS", "by filling it", "", "`disk-full`, `disk-read-only`"),
    (
        "other owners, modes, sizes of files",
        "no",
        "no",
        "yes",
        "",
        "no: `syscall-error:call=open,errno=EACCES` is what a process sees of it",
    ),
    ("bits turned, files cut", "no", "yes", "random bytes", "", "`bit-flip`, `cut-file`"),
    ("old, empty, exchanged disks", "no", "old pieces of files", "no", "", "`stale-disk`, `empty-disk`, `swap-disks`"),
    ("members added, removed, replaced", "no", "by hand", "no", "etcd", "`remove-node`, `replace-node`"),
    (
        "leadership, compaction, snapshots on demand",
        "no",
        "by hand",
        "no",
        "etcd, by failpoints",
        "`transfer-leadership`, `compact`, `defragment`, `snapshot`",
    ),
    ("another patch release on some nodes", "no", "no", "no", "etcd", "`change-version`"),
    (
        "another minor version, and back",
        "no",
        "no",
        "no",
        "etcd",
        (
            "no: a fault must be undone, and an older minor version may not read what a newer one wrote; "
            "`change-version` keeps to patch releases"
        ),
    ),
    ("another setting on some nodes", "no", "by hand", "no", "", "`change-setting`"),
    (
        "points in the source that panic or sleep",
        "no",
        "no",
        "JVM, kernel",
        "etcd",
        (
            "etcd's own by `--set build.gofail=true` and `--set gofail.failpoints=…`; without a build of its own "
            "`crash-at-fsync` and `syscall-delay` hit any system"
        ),
    ),
    ("clients that crash", "no", "yes", "no", "", "`client-crash`"),
    (
        "Kafka topics filled, flooded, unreadable",
        "no",
        "no",
        "chaosd",
        "",
        "`disk-full`, `load-step`, `disk-error`, `disk-read-only`",
    ),
    (
        "Redis sentinels stopped or restarted, a small memory, keys that expire or are missing",
        "no",
        "no",
        "chaosd",
        "",
        (
            "`stop` and `restart`, of what the harness starts; `load-step`; no expiry by others: a history that does "
            "not know of a change cannot be judged"
        ),
    ),
    ("clients that all connect again at once", "no", "no", "no", "", "`reconnect-storm`"),
    (
        "machines and volumes of a cloud",
        "no",
        "no",
        "yes",
        "",
        "no: hosts are namespaces, containers, or reached by SSH; `kill` ends whole containers where it is asked to",
    ),
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
