"""``chaos generate``: writes histories with known anomalies, to measure checkers with."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from chaos import plugins
from chaos.basics.amounts import Amount
from chaos.cli.completion.values import offer
from chaos.cli.examples import examples
from chaos.cli.options.amount_type import AmountType
from chaos.core.errors import UsageError
from chaos.generate.generator import HistoryGenerator, HistorySpec
from chaos.generate.plan import MAX_KEYS, MAX_OPS, MAX_SEED, parse_anomalies

GENERATORS: Final = "generators"
LONGEST_TXN: Final = 64
LOG: Final = "log"


@click.command(
    "generate",
    epilog=examples(
        "chaos generate --ops 20000 --anomaly lost-write=3 --output red",
        "chaos generate --model lock --ops 1e6 --keys 16 --anomaly lock-held-twice=2 --output red",
        "chaos generate --model kafka --ops 100000 --keys 20 --txn-length 3 --output made.edn",
        "chaos generate --model list-append --ops 100000 --keys 10 --anomaly G1c=2 --output made.edn",
    ),
)
@click.option(
    "--model",
    type=click.Choice(plugins.names(GENERATORS)),
    default=LOG,
    show_default=True,
    metavar="MODEL",
    help="Write a history of this model; `chaos list generators` says which there are, as run folders or files.",
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
    help="Use this many queues, registers, locks and so on, or keys, at a time.",
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
    help="Write this run folder, or this file, .edn or .json.",
)
def generate_command(
    model: str, ops: int, keys: int, seed: int, anomalies: tuple[str, ...], output: Path, **options: Any
) -> int:
    """Write a history in which nothing is wrong but the anomalies that you ask for.

    `chaos check` judges it like a recorded one; a file with `--format jepsen` and the same `--model`. The same options
    give the same rows.
    """
    generator: HistoryGenerator = plugins.load(GENERATORS, model)
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in generator.options:
            raise UsageError(f"--{name.replace('_', '-')}: only for --model {', '.join(_with_option(name))}")
    began = time.monotonic()
    what = generator.write(
        HistorySpec(
            ops=ops,
            keys=keys,
            seed=seed,
            anomalies=parse_anomalies(anomalies, generator.planted),
            options=given,
            argv=_argv(model, ops, keys, seed, anomalies, output),
            processes=os.cpu_count() or 1,
        ),
        output,
    )
    click.echo(f"{output}: {what}, written in {time.monotonic() - began:.1f} s")
    return 0


def _with_option(name: str) -> list[str]:
    """The models whose generators take an option."""
    return [model for model in plugins.names(GENERATORS) if name in plugins.load(GENERATORS, model).options]


def _argv(model: str, ops: int, keys: int, seed: int, anomalies: Sequence[str], output: Path) -> tuple[str, ...]:
    """The command, as a run folder keeps it; the model of its default is not named."""
    of_model = () if model == LOG else ("--model", model)
    asked = [word for text in anomalies for word in ("--anomaly", text)]
    sizes = ("--ops", str(ops), "--keys", str(keys))
    return ("chaos", "generate", *of_model, *sizes, *asked, "--seed", str(seed), "--output", str(output))
