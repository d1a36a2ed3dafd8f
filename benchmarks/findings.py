"""What was found in real systems: runs each finding's command over seeds and writes docs/results/findings.md.

    .venv/bin/python benchmarks/findings.py run [--only NAME] [--seeds 1-5] [--store DIR]
    .venv/bin/python benchmarks/findings.py run --only NAME --matrix-run ID
    .venv/bin/python benchmarks/findings.py render

Rows go to docs/data/findings.jsonl; ``render`` is a pure function of that file, of the texts below and of the
fingerprints of the code.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import rows as kept_rows
from rows import DATA, ROOT, Code, Row, about_age, counted, keep, made, stored
from runs import Job, parser, run_series

ROWS = DATA / "findings.jsonl"
MATRIX = DATA / "rocketmq.jsonl"
PAGE = ROOT / "docs" / "results" / "findings.md"
COLUMNS = ("f", "type", "process", "node", "value", "offset", "from", "next", "invoke_s", "complete_s")


class Finding(NamedTuple):
    """A finding: its command with a place for the seed, the anomaly that shows it, and what it means.

    ``seeds``: those whose plan has the fault that matters; empty for any. ``seen``: what was seen once, as lines, of
    something that no command shows at will; such a finding has no command and no runs.
    """

    name: str
    title: str
    command: str
    anomaly: str
    text: str
    seeds: tuple[int, ...] = ()
    seen: tuple[str, ...] = ()


FINDINGS = (
    Finding(
        "old-master-acknowledges-alone",
        "RocketMQ 5.5.0: a master that is cut off acknowledges alone, and its messages are lost",
        "chaos run --system rocketmq --nemesis leader-partition --fault-interval 40 --time-limit 80 --seed {seed}",
        "lost-write",
        "Controller mode, safe settings (allAckInSyncStateSet=true, minInSyncReplicas=1, unclean election off). The"
        " master is cut off from the other brokers and all controllers for 40 s; clients reach everybody, and three"
        " of eight stay on one broker each. The controllers elect a new master after about 4 s. For the first 20 s the"
        " old master answers FLUSH_SLAVE_TIMEOUT, an unknown outcome, which is right. Then its replication connections"
        " expire (haHousekeepingInterval, 20 s by default), it clears its local SyncStateSet without the controllers'"
        " consent, and acknowledges alone what no other broker has. After the heal it truncates its log to the new"
        " master's: every one of those messages is gone, and their offsets belong to others. Clients that follow the"
        " route do not meet it, because the route has moved by then. A master must not shrink its SyncStateSet by"
        " itself.",
    ),
    Finding(
        "replaced-after-the-controllers-return",
        "RocketMQ 5.5.0: when the controllers come back, clients that follow the route lose messages too",
        "chaos run --system rocketmq --nemesis random-partition --set client.routing=follow --fault-interval 20"
        " --time-limit 120 --seed {seed}",
        "lost-write",
        "Safe settings, clients that follow the route. The second fault of this plan cuts the three "
        "controllers off from the three brokers for 20 s. The brokers go on among themselves and lose "
        "nothing; the controllers hear no heartbeat and end with no master. After the heal they elect the "
        "broker whose heartbeat comes first, in a new epoch, although the old master is alive. The new master "
        "and the other slave close their replication connections to the old one, which takes both out of its "
        "own SyncStateSet, asks the controllers to agree (they refuse, the epoch is over), and until it is "
        "told that it is a slave (42 ms later when this was first seen) acknowledges alone what the route "
        "still brings it. The cause is that of the first finding, without any client that stays. Loss on the way "
        "to the controllers brings it about as well.",
        seeds=(667880820,),
    ),
    Finding(
        "replaced-by-a-controller-that-wakes",
        "RocketMQ 5.5.0: a controller that was suspended wakes, takes living brokers for dead, and a message is lost",
        "chaos run --system rocketmq --nemesis major-suspend@controller --set client.routing=follow --time-limit 120"
        " --fault-interval 20 --seed {seed}",
        "lost-write",
        "Safe settings, clients that follow the route, and no broker is ever touched. Two of three controllers, the"
        " active one among them, are stopped for 20 s. When they go on, the active controller still leads its term, and"
        " its table of heartbeats is 20 s old: it takes the master for dead and elects a slave, within a quarter of a"
        " second and before the master's next heartbeat. The old master begins to step down, both of its replication"
        " connections are closed within six milliseconds, and so it has nobody left in its local SyncStateSet (`Notify"
        " the syncStateSet has been changed into [1]`): what waited at that moment is acknowledged, and is truncated a"
        " sixth of a second later. How many messages that is depends on the rate; here it is one. A controller should not"
        " judge heartbeats that it could not have heard.",
        seeds=(5,),
    ),
    Finding(
        "acknowledges-as-it-steps-down",
        "RocketMQ 5.5.0: a master that steps down acknowledges what still waits for its slaves, and it is lost",
        "chaos run --system rocketmq --nemesis random-loss --set client.routing=follow --fault-interval 20"
        " --time-limit 120 --seed {seed}",
        "lost-write",
        "Safe settings, clients that follow the route. 80 % loss on every link of two brokers and a controller for"
        " 20 s: the controllers elect another master, the old one does not hear of it, and its sends wait for slaves"
        " that no longer answer, each for the three seconds of syncFlushTimeout. When the loss ends, the old master"
        " learns that it is a slave and closes its replication connections one after the other; each close takes a"
        " slave out of its local SyncStateSet (`Notify the syncStateSet has been changed into [1, 3]`, then `[1]`),"
        " and with the last one everything that waited counts as replicated to all: three seconds of sends, here 581,"
        " are acknowledged within a tenth of a second by a broker that is already truncating them. A step down must"
        " end waiting sends as unknown.",
        seeds=(1,),
    ),
    Finding(
        "acknowledged-and-not-readable",
        "RocketMQ 5.5.0: after its slaves were stopped a master acknowledges alone, and nobody can read that for seconds",
        "chaos run --system rocketmq --nemesis major-suspend --set client.routing=follow --fault-interval 20"
        " --time-limit 120 --seed {seed}",
        "stale-tail",
        "Safe settings, clients that follow the route. Both slaves are stopped for 20 s, as long as"
        " haHousekeepingInterval: when they go on, the master has just closed its replication connections to them, which"
        " takes both out of its own SyncStateSet, and it acknowledges what waited as if all replicas had it. The confirm"
        " offset, up to which readers are served, does not move with it: for six seconds, until the slaves have connected"
        " again, strong reads at the very master that acknowledged end hundreds of messages short. Nothing is lost"
        " unless the master dies meanwhile. Whether a run meets it depends on which of two timers of 20 s fires first.",
        seeds=(2,),
    ),
    Finding(
        "slave-shows-what-vanishes",
        "RocketMQ 5.5.0: after a partition a slave shows messages that nobody acknowledged and that then vanish",
        "chaos run --system rocketmq --nemesis random-partition --set client.routing=follow --set client.slaveReads=on"
        " --fault-interval 20 --time-limit 120 --seed {seed}",
        "inconsistent-offsets",
        "Safe settings, and slaveReadEnable=true so that slaves can be read. The master and a slave are on the side of"
        " the cut that has no majority of controllers. Sends to the old master end unknown, and it keeps what it"
        " appended. After the heal, until it learns that it was replaced, it moves its confirm offset past these"
        " messages and tells its slave; for about two seconds readers of that slave get messages that were never"
        " acknowledged, at offsets that the new master has given to others. Then both truncate. With slaveReadEnable"
        " false, the stock setting, no ordinary client sees it; `client.routing=follow` therefore leaves slave reads"
        " out unless `client.slaveReads=on` asks for them. Seeds 71, 158 and 549 cut two brokers off from two controllers"
        " in each of their faults; whether the master is among them is chance.",
        seeds=(1, 2, 3, 4, 5, 71, 158, 549),
    ),
    Finding(
        "a-new-master-does-not-know-where-a-group-goes-on",
        "RocketMQ 5.5.0: after a failover a consumer group begins where it was long ago, or at the beginning",
        "chaos run --system rocketmq --workload group --nemesis leader-kill --set client.routing=follow"
        " --fault-interval 20 --time-limit 120 --seed {seed}",
        "lost-commit",
        "Safe settings, clients that follow the route and are one consumer group: who holds a queue asks where the group"
        " goes on, polls, and commits behind what it was given. A broker keeps these offsets in memory, writes them to a"
        " file every five seconds, and its slaves fetch them every few seconds; an acknowledged commit is in none of the"
        " replicas yet. In 5.5.0 slaves cannot even parse what they fetch (fastjson2, apache/rocketmq#10284), so a new"
        " master answers the offset of its own last time as master, or that the group never committed, and members are"
        " given again what they had. The contract reports each such answer as a `lost-commit` that the promise covers,"
        " because RocketMQ never said otherwise; the run is valid as long as no message is passed over (`undelivered`).",
    ),
    Finding(
        "survivor-waits-for-the-suspended-master",
        "RocketMQ 5.5.0: while its old master is suspended a group with minInSyncReplicas=2 may stand still until it wakes",
        "chaos run --system rocketmq --nemesis leader-suspend --set minInSyncReplicas=2 --set client.routing=follow"
        " --rto-budget 30 --fault-interval 20 --fault-duration 45 --time-limit 150 --seed {seed}",
        "rto-budget",
        "Two of three replicas live, and two are enough. The master is suspended for 45 s, the controllers elect another"
        " after about 4 s, and the third broker has to follow it. It learns of the new master and, in the same"
        " millisecond, connects to the old one's replication port once more (`Change broker to SLAVE, newMasterAddress`"
        " followed by `AutoSwitchHAClient connect to master` with the old address, `change state to HANDSHAKE`). The"
        " kernel of a suspended process accepts connections, and the handshake has no deadline: the broker waits until"
        " the old master goes on. Until then the new master is alone in its SyncStateSet and refuses every send. Reads go"
        " on. Whether a run meets it depends on which of two threads is first. A handshake needs a deadline, and a change"
        " of master must end the one under way.",
    ),
    Finding(
        "acknowledged-below-the-minimum",
        "RocketMQ 5.5.0: with minInSyncReplicas=2 a master whose slaves are both suspended acknowledges alone",
        "chaos run --system rocketmq --nemesis major-suspend --set minInSyncReplicas=2 --set client.routing=follow"
        " --fault-interval 20 --fault-duration 40 --time-limit 200 --seed {seed}",
        "min-in-sync",
        "Both slaves are suspended for 40 s; no process is left but the master's that could hold a message. Sends wait for"
        " the slaves and end as unknown after three seconds, which is right. After 20 s (haHousekeepingInterval) the"
        " master closes its replication connections, which takes both slaves out of its own SyncStateSet, and what waits"
        " at that moment is acknowledged as if all had it: the minimum is looked at before the append, and not when the"
        " acknowledgement is given. Were the master to die now, these messages would be gone. Two pairs of brokers in a"
        " row must be the same for the fault to hit both slaves, which the seed decides.",
        seeds=(2,),
    ),
    Finding(
        "a-new-master-does-not-know-the-topic",
        "RocketMQ 5.5.0: a new master may not know the topic whose messages it has, and then nobody ever does",
        "chaos run --system rocketmq --nemesis leader-kill --set cluster.topicOn=master --set client.routing=follow"
        " --rto-budget 15 --fault-interval 3 --fault-duration 25 --time-limit 56 --seed {seed}",
        "rto-budget",
        "The log is replicated, a topic's configuration is not: slaves ask their master for it every twelve seconds. The"
        " topic is made on the master, as RocketMQ's own tools do it, and the master is killed before they ask again. The"
        " new master has every message and serves none of them: it does not know the topic, and every send and read is"
        " refused. When the old master is back it becomes a slave, asks the new one for its topics, and forgets the topic"
        " too. The service does not recover until somebody makes the topic again. (By default this harness makes the topic"
        " on every replica.)",
    ),
    Finding(
        "the-controller-elects-who-died-with-the-master",
        "RocketMQ 5.5.0: when master and slave die at once the controller may elect the dead slave and shut the living one out",
        "",
        "",
        "Three brokers in sync; the master and one slave are killed in the same instant, and the third has every message."
        " The controller hears that the master is gone and elects out of the SyncStateSet; that the other one is gone as"
        " well it has not noticed yet. If it takes that one, the SyncStateSet is from then on the dead broker alone, and"
        " when that death is noticed nobody in it is alive: the living broker may not be elected, because unclean"
        " election is off, and there is no master until the elected one is back. It costs no message; a fault that one"
        " replica should outlive costs the service until a restart. Seen in the paper's matrix (broker-kill.pool.DLedger,"
        " fault 2, [rocketmq-raft.md](rocketmq-raft.md)); whether a run meets it depends on who is elected, and four such"
        " faults in a row did not.",
        seen=(
            "   38.109  -- c2 says: leader, epoch 1, master b1, in sync b1 b2 b3",
            "   50.001  == fault 2 major-kill@broker: inject b1 b2 of 3 brokers, killed",
            "   51.097  -- c2 says: leader, epoch 1, in sync b2",
            "   60.000  == fault 2 major-kill@broker: heal proven: b1 b2 of 3 brokers, killed",
            "   65.162  -- c2 says: leader, epoch 1, master b2, in sync b2",
        ),
    ),
    Finding(
        "a-master-of-an-empty-epoch-is-shut-out",
        "RocketMQ 5.5.0: a broker that led an epoch in which nothing was written can never join again",
        "",
        "",
        "Seen once while a cluster started on a loaded machine, seven JVMs at a time. b1 was elected in epoch 1 with an"
        " empty log, missed its heartbeats, and b3 was elected in epoch 2 with an empty log as well. From then on b1"
        " looks for a point at which its epochs and the new master's agree, finds none, closes the connection, and"
        " tries again every five seconds for as long as anybody waits. `chaos run` therefore starts the controllers before"
        " the brokers, and replaces a cluster that does not come up once, with a warning, before anything was asked of it.",
        seen=(
            (
                "b1 AutoSwitchHAClient - Receive handshake, masterMaxPosition 0, masterEpochEntries:"
                "[EpochEntry{epoch=2, startOffset=0, endOffset=9223372036854775807}], try truncate log"
            ),
            (
                "b1 AutoSwitchHAClient - Failed to find a consistent point between masterEpoch:"
                "[EpochEntry{epoch=2, startOffset=0, endOffset=0}] and slaveEpoch:"
                "[EpochEntry{epoch=1, startOffset=0, endOffset=0}]"
            ),
            "b1 AutoSwitchHAClient - AutoSwitchHAClient truncate log failed in handshake state",
        ),
    ),
)


def minimal(folder: Path, anomaly: str) -> list[dict[str, Any]]:
    """The first example's operations, the columns a reader needs."""
    found = json.loads((folder / "results.json").read_text())["anomalies"].get(anomaly)
    if not found or not found["examples"]:
        return []
    return [{c: op.get(c) for c in COLUMNS if op.get(c) is not None} for op in found["examples"][0]["ops"]]


def jobs_of(only: str | None, seeds: Sequence[int]) -> list[Job]:
    """The runs of the findings that a run can show."""
    return [
        Job({"finding": finding.name, "command": command}, command, "rocketmq")
        for finding in FINDINGS
        if not finding.seen and only in (None, finding.name)
        for command in (finding.command.format(seed=seed) for seed in finding.seeds or seeds)
    ]


def told(folder: Path, row: Row) -> Row:
    """The minimal history of what a run showed."""
    finding = next(each for each in FINDINGS if each.name == row["finding"])
    return {"minimal": minimal(folder, finding.anomaly) if row["valid"] is not None else []}


def take(name: str, run: str, store: Path) -> None:
    """Keep a run of the seed matrix that showed a finding, with its minimal history."""
    finding = next(each for each in FINDINGS if each.name == name)
    row = next(row for row in stored(MATRIX) if row["run"] == run)
    folder = next(store.glob(f"*/{run}"))
    keep(ROWS, {"finding": name, **row, "minimal": minimal(folder, finding.anomaly)})


def section(finding: Finding, rows: Sequence[Row], now: Code | None) -> list[str]:
    """One finding as Markdown lines."""
    out = [f"## {finding.title}", "", finding.text, "", "```"]
    if finding.seen:
        return [*out, *finding.seen, "```", ""]
    out += [finding.command.format(seed="SEED"), "```", ""]
    if not rows:
        return [*out, "Not run yet.", ""]
    out += [f"| seed | exit | acknowledged | {finding.anomaly} | what the run said | made by |"]
    out += ["|---|---|---|---|---|---|"]
    for row in rows:
        acked, count = row["counts"].get("send ok", 0), row["anomalies"].get(finding.anomaly, 0)
        said = row["sentence"] or row["reason"]
        out.append(f"| {row['seed']} | {row['exit']} | {acked} | {count} | {said} | {made([row], now)} |")
    mine = {row["seed"]: sorted(finding.command.format(seed=row["seed"]).split()) for row in rows}
    others = [row for row in rows if sorted(row["command"].split()) != mine[row["seed"]]]
    out += [line for row in others for line in ("", f"Seed {row['seed']} was run as `{row['command']}`.")]
    shown = next((row for row in rows if row["minimal"]), None)
    if shown is not None:
        out += ["", f"Minimal history, from seed {shown['seed']}:", "", "```"]
        out += [json.dumps(op) for op in shown["minimal"]]
        out += ["```"]
    return [*out, ""]


def page(rows: Sequence[Row], now: Code | None = None) -> str:
    """docs/results/findings.md as a pure function of the rows and of the fingerprints of today's code."""
    lines = [
        "# Findings",
        "",
        (
            "What did chaos find in real systems? Each entry has the command that shows it and the runs that were made."
            " The page is generated by `benchmarks/findings.py render` from `docs/data/findings.jsonl`; rows are added"
            " by `.venv/bin/python benchmarks/findings.py run`."
        ),
        "",
        *about_age(rows, now),
    ]
    for finding in FINDINGS:
        mine = sorted((row for row in counted(rows) if row["finding"] == finding.name), key=lambda row: row["seed"])
        lines += section(finding, mine, now)
    lines += kept_rows.section(rows, lambda row: f"{row['finding']}, seed {row['seed']}, exit {row['exit']}")
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Parse and act."""
    options = parser(__doc__, "1-5")
    options.add_argument("--only", choices=[finding.name for finding in FINDINGS])
    options.add_argument("--matrix-run", help="take this run of docs/data/rocketmq.jsonl for --only; run nothing")
    args = options.parse_args()
    if args.what == "run" and args.matrix_run:
        take(args.only, args.matrix_run, args.store)
    elif args.what == "run":
        run_series(ROWS, jobs_of(args.only, args.seeds), args, told)
    PAGE.write_text(page(stored(ROWS)))


if __name__ == "__main__":
    main()
