"""``chaos generate``: writes histories with known anomalies, to measure checkers with."""

import os
import time
from pathlib import Path
from typing import Any

import click

from chaos.cli.amount_type import AmountType
from chaos.cli.examples import examples
from chaos.cli.offers import offer
from chaos.core.errors import UsageError
from chaos.generate.plan import MAX_KEYS, MAX_OPS, MAX_SEED, parse_anomalies, plan_of
from chaos.options.amounts import Amount

LONGEST_TXN = 64


@click.command(
    "generate",
    epilog=examples(
        "chaos generate --ops 20000 --anomaly lost-write=3 --output red",
        "chaos generate --model kafka --ops 100000 --keys 20 --txn-length 3 --output made.edn",
    ),
)
@click.option(
    "--model",
    type=click.Choice(["log", "kafka"]),
    default="log",
    show_default=True,
    help="Write a run folder of ours (log), or a file as Jepsen's Kafka workload does (kafka).",
)
@click.option(
    "--ops",
    type=AmountType(Amount("count", 1, MAX_OPS)),
    required=True,
    help="Write this many operations, the last reads among them, e.g. 20k or 1e6.",
)
@click.option(
    "--keys",
    type=AmountType(Amount("count", 1, MAX_KEYS)),
    default=4,
    show_default=True,
    help="Use this many queues, or logs.",
)
@click.option(
    "--anomaly",
    "anomalies",
    multiple=True,
    metavar="NAME=COUNT,…",
    shell_complete=offer("anomalies"),
    help="Plant this anomaly, this often; nothing else is wrong.",
)
@click.option(
    "--seed", type=AmountType(Amount("count", 0, MAX_SEED)), default=1, show_default=True, help="Draw from this seed."
)
@click.option(
    "--txn-length",
    type=AmountType(Amount("count", 1, LONGEST_TXN)),
    help="Put at most this many sends and polls into a transaction (kafka).  [default: 1]",
)
@click.option(
    "--sub-via",
    type=click.Choice(["assign", "subscribe"]),
    help="Let consumers get their logs so (kafka).  [default: assign]",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="Write this run folder (log), or this file, .edn or .json (kafka).",
)
def generate_command(model: str, output: Path, **options: Any) -> int:
    """Write a history in which nothing is wrong but the anomalies that you ask for.

    `chaos check` judges it like a recorded one; one of kafka with `--format jepsen --model kafka`. The same options
    give the same rows.
    """
    return (_log if model == "log" else _kafka)(output, **options)


def _log(output: Path, ops: int, keys: int, anomalies: tuple[str, ...], seed: int, **others: Any) -> int:
    from chaos.generate.folder import write

    for name, value in others.items():
        if value is not None:
            raise UsageError(f"--{name.replace('_', '-')}: only for --model kafka")
    plan = plan_of(ops, keys, seed, parse_anomalies(anomalies))
    asked = [word for text in anomalies for word in ("--anomaly", text)]
    argv = (
        "chaos",
        "generate",
        "--ops",
        str(ops),
        "--keys",
        str(keys),
        *asked,
        "--seed",
        str(seed),
        "--output",
        str(output),
    )
    began = time.monotonic()
    operations, records = write(plan, output, argv, os.cpu_count() or 1)
    took_s = time.monotonic() - began
    click.echo(f"{output}: {operations} operations, {records} records read, written in {took_s:.1f} s")
    return 0


def _kafka(output: Path, ops: int, anomalies: tuple[str, ...], **options: Any) -> int:
    from chaos.generate.kafka import Wish, write
    from chaos.generate.kafka_sites import PLANTED

    given = {name: value for name, value in options.items() if value is not None}
    began = time.monotonic()
    size = write(Wish(ops=ops, anomalies=parse_anomalies(anomalies, PLANTED), **given), output)
    took_s = time.monotonic() - began
    click.echo(f"{output}: {ops} operations, {size / 1e6:.1f} MB, written in {took_s:.1f} s")
    return 0
