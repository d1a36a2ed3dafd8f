"""``chaos generate``: writes histories with known anomalies, to measure checkers with."""

import os
import time
from pathlib import Path
from typing import Any

import click

from chaos.cli.amount_type import AmountType
from chaos.cli.completion_values import offer
from chaos.cli.examples import examples
from chaos.core.errors import UsageError
from chaos.generate.plan import MAX_KEYS, MAX_OPS, MAX_SEED, parse_anomalies, plan_of
from chaos.generate.txn_stories import STORIES
from chaos.options.amounts import Amount

LONGEST_TXN = 64
LOG = "log"
OURS = (LOG, "semaphore")
"""The models of which a run folder is written."""


@click.command(
    "generate",
    epilog=examples(
        "chaos generate --ops 20000 --anomaly lost-write=3 --output red",
        "chaos generate --model semaphore --ops 20000 --anomaly permits-exceeded=2 --output red",
        "chaos generate --model kafka --ops 100000 --keys 20 --txn-length 3 --output made.edn",
        "chaos generate --model list-append --ops 100000 --keys 10 --anomaly G1c=2 --output made.edn",
    ),
)
@click.option(
    "--model",
    type=click.Choice([*OURS, "kafka", *STORIES]),
    default=LOG,
    show_default=True,
    help="Write a run folder of ours (log, semaphore), or a file as Jepsen's workload of that name does.",
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
    help="Use this many queues, semaphores, logs, or keys at a time.",
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
    help="Do at most this many things in a transaction, where the model has any.  [default: 1 of kafka, else 4]",
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
    help="Write this run folder (log, semaphore), or this file, .edn or .json.",
)
def generate_command(model: str, output: Path, **options: Any) -> int:
    """Write a history in which nothing is wrong but the anomalies that you ask for.

    `chaos check` judges it like a recorded one; a file with `--format jepsen` and the same `--model`. The same options
    give the same rows.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if model in OURS and "txn_length" in given:
        raise UsageError(f"--txn-length: only for --model {', '.join(('kafka', *STORIES))}")
    if model != "kafka" and "sub_via" in given:
        raise UsageError("--sub-via: only for --model kafka")
    anomalies = given.pop("anomalies")
    if model in OURS:
        return _folder(model, output, anomalies, **given)
    return _file(output, anomalies, model, given)


def _folder(model: str, output: Path, anomalies: tuple[str, ...], ops: int, keys: int, seed: int) -> int:
    asked = [word for text in anomalies for word in ("--anomaly", text)]
    of_model = () if model == LOG else ("--model", model)
    argv = (
        "chaos",
        "generate",
        *of_model,
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
    if model == LOG:
        from chaos.generate.folder import write

        operations, records = write(
            plan_of(ops, keys, seed, parse_anomalies(anomalies)), output, argv, os.cpu_count() or 1
        )
        what = f"{operations} operations, {records} records read"
    else:
        from chaos.generate import semaphore

        plan = semaphore.plan_of(ops, keys, seed, parse_anomalies(anomalies, semaphore.PLANTED))
        what = f"{semaphore.write(plan, output, argv)} operations"
    click.echo(f"{output}: {what}, written in {time.monotonic() - began:.1f} s")
    return 0


def _file(output: Path, anomalies: tuple[str, ...], model: str, given: dict[str, Any]) -> int:
    from chaos.generate import kafka, kafka_stories, txn, txn_stories

    began = time.monotonic()
    if model == "kafka":
        planted = parse_anomalies(anomalies, kafka_stories.PLANTED)
        size = kafka.write(kafka.Wish(anomalies=planted, **given), output)
    else:
        planted = parse_anomalies(anomalies, txn_stories.PLANTED[model])
        size = txn.write(txn.Wish(model=model, anomalies=planted, **given), output)
    took_s = time.monotonic() - began
    click.echo(f"{output}: {given['ops']} operations, {size / 1e6:.1f} MB, written in {took_s:.1f} s")
    return 0
