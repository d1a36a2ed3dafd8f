"""``chaos generate``: a history that nobody ran, to measure checkers with."""

import os
import time
from pathlib import Path

import click

from chaos.core.errors import UsageError
from chaos.generate.plan import MAX_KEYS, MAX_OPS, MAX_SEED, parse_anomalies, plan_of


@click.command("generate")
@click.option("--model", default="log", show_default=True, help="What kind of history; log is the one there is.")
@click.option(
    "--ops",
    type=click.IntRange(min=1, max=MAX_OPS),
    required=True,
    help="Operations in all, the final reads among them.",
)
@click.option("--keys", type=click.IntRange(min=1, max=MAX_KEYS), default=4, show_default=True, help="Queues.")
@click.option(
    "--anomaly",
    "anomalies",
    multiple=True,
    metavar="NAME=COUNT,…",
    help="What is planted, and how often; everything else is valid.",
)
@click.option("--seed", type=click.IntRange(min=0, max=MAX_SEED), default=1, show_default=True, help="Of every draw.")
@click.option("--output", type=click.Path(path_type=Path), required=True, help="The run folder to be made.")
def generate_command(model: str, ops: int, keys: int, anomalies: tuple[str, ...], seed: int, output: Path) -> int:
    """Write a run folder whose history is valid but for exactly the anomalies that were asked for.

    `chaos check` judges it like that of a run. The same options give the same rows.
    """
    from chaos.generate.folder import write

    if model != "log":
        raise UsageError(f"--model {model}: only log can be generated")
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
