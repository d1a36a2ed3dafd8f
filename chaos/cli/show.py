"""``chaos show``: prints the history of a run as text, or the part around one thing."""

import heapq
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from chaos.basics.amounts import DAY_S, Amount, duration
from chaos.cli.completion.values import offer
from chaos.cli.examples import examples
from chaos.cli.options.amount_type import AmountType
from chaos.cli.options.run_options import STORE_OPTION
from chaos.cli.options.sections import RunCommand
from chaos.cli.output import text_style
from chaos.core.errors import UsageError
from chaos.core.op import Type

_TYPES = {kind.word: kind for kind in (Type.OK, Type.FAIL, Type.INFO, Type.NOT_SENT)}
_FILTERS = {
    "--key": "keys",
    "--process": "processes",
    "--f": "kinds",
    "--type": "types",
    "--node": "node",
    "--from": "from_s",
    "--to": "to_s",
}
"""The options that choose operations, each with the name of its parameter."""
_NUMBER = AmountType(Amount("count", 0, 1 << 31))
_TIME = AmountType(Amount("duration", -DAY_S, 30 * DAY_S))


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """What ``--around`` means: a value or an offset, else the moment ``at_ns``; in one queue or in all."""

    key: int | None = None
    value: tuple[int, int] | None = None
    offset: int | None = None
    at_ns: int | None = None


def parse_around(text: str, folder: Path, key: int | None) -> Sought:
    """Read ``--around``: an offset, a value writer:sequence, or an anomaly by name, with /N for its N-th example.

    Raises:
        UsageError: it is none of these, or the run has no such anomaly.
    """
    if match := re.fullmatch(r"(\d+):(\d+)", text):
        return Sought(key=key, value=(int(match[1]), int(match[2])))
    if re.fullmatch(r"\d+", text):
        return Sought(key=key, offset=int(text))
    from chaos.core.verdict import Results
    from chaos.plugins import did_you_mean
    from chaos.storage.manifest import read_checked

    name, _, number = text.partition("/")
    results = read_checked(folder / "results.json", Results)
    if results is None:
        raise UsageError(f"--around {text}: the run was not judged yet; judge it with chaos check {folder}")
    anomalies = results.anomalies
    if name not in anomalies:
        known = did_you_mean(name, anomalies) or "; there are none"
        raise UsageError(f"--around {text}: not an offset, not a value such as 3:17, not an anomaly of this run{known}")
    examples = anomalies[name].examples
    place = int(number) if number.isdigit() else 1
    if (number and not number.isdigit()) or not 1 <= place <= len(examples):
        raise UsageError(f"--around {text}: {name} has {len(examples)} examples; write {name}/1 for the first")
    one = examples[place - 1]
    value = re.fullmatch(r"(\d+):(\d+)", one.value or "")
    return Sought(
        key=one.key if key is None else key,
        value=(int(value[1]), int(value[2])) if value else None,
        offset=None if value else one.offset,
        at_ns=one.at_ns,
    )


@click.command(
    "show",
    cls=RunCommand,
    epilog=examples(
        "chaos show latest --around lost-write --context 10",
        "chaos show -1 --node b1 --from 10 --to 20",
    ),
)
@click.argument("run", shell_complete=offer("runs"))
@STORE_OPTION
@click.option("--key", "keys", multiple=True, type=_NUMBER, help="Show only operations on this queue; repeatable.")
@click.option(
    "--process", "processes", multiple=True, type=_NUMBER, help="Show only those of this process; repeatable."
)
@click.option(
    "--f",
    "kinds",
    multiple=True,
    metavar="WORD",
    shell_complete=offer("words of the run"),
    help="Show only those of this kind, such as `send`; repeatable.",
)
@click.option(
    "--type", "types", multiple=True, type=click.Choice(list(_TYPES)), help="Show only those with this outcome."
)
@click.option(
    "--node",
    default=None,
    metavar="NAME",
    shell_complete=offer("nodes of the run"),
    help="Show only what concerns this node.",
)
@click.option("--from", "from_s", type=_TIME, default=None, help="Begin at this time of the load, e.g. 10 or 1m30s.")
@click.option("--to", "to_s", type=_TIME, default=None, help="End at this time of the load.")
@click.option(
    "--around",
    default=None,
    metavar="OFFSET|VALUE|ANOMALY",
    shell_complete=offer("anomalies of the run"),
    help="Show only the lines around this.",
)
@click.option("--context", type=_NUMBER, default=5, show_default=True, help="Show this many lines around each.")
def show_command(run: str, store: str, around: str | None, context: int, **filters: Any) -> int:
    """Print the history of a run in time order: operations, faults, and what nodes said of themselves.

    RUN is a folder, the beginning of an id, `latest`, or -1, -2, … from the newest. Faults, phases and observations are
    shown beside the operations that you ask for. `--around` takes an offset (with --key), a value such as 3:17, or an
    anomaly of the run, such as lost-write or lost-write/2 (its second example).
    """
    from chaos.run.store import find_run

    from_s, to_s = filters["from_s"], filters["to_s"]
    if None not in (from_s, to_s) and from_s > to_s:
        raise UsageError(f"--from {duration(from_s)}: it is after --to {duration(to_s)}; swap them")
    folder = find_run(run, Path(store))
    shown = 0
    for line in _lines(folder, around, context, filters):
        click.echo(line)
        shown += 1
    if around is not None and shown == 1:
        click.echo(f"--around {around}: nothing in this history concerns it")
    return 0


def _lines(folder: Path, around: str | None, context: int, filters: dict[str, Any]) -> Iterator[str]:
    """The head and the lines to print, each made when it is printed."""
    from chaos.core.clock import NS_PER_S
    from chaos.models.log.words import MODEL
    from chaos.models.registry import model_of
    from chaos.plugins import did_you_mean
    from chaos.storage.runinfo import read_run
    from reports.folder import read_events_of
    from reports.history import rows as history_rows
    from reports.history import text as history_text

    run = read_run(folder)
    model = model_of(run)
    names = [node.name for node in run.nodes]
    node = filters["node"]
    if node is not None and node not in names:
        raise UsageError(f"--node {node}: no such node in this run: {', '.join(names)}")

    for word in filters["kinds"]:
        if word not in run.words:
            raise UsageError(f"--f {word}: no such operation on a {run.model}{did_you_mean(word, run.words)}")

    def instant(second: float | None) -> int | None:
        return None if second is None else run.origin_ns + round(second * NS_PER_S)

    target = parse_around(around, folder, filters["keys"][0] if len(filters["keys"]) == 1 else None) if around else None
    keys = {*filters["keys"], *([target.key] if target and target.key is not None else [])}
    wanted = history_rows.Wanted(
        keys=frozenset(keys),
        processes=frozenset(filters["processes"]),
        kinds=frozenset(run.words[word] for word in filters["kinds"]),
        types=frozenset(int(_TYPES[word]) for word in filters["types"]),
        nodes=frozenset() if node is None else frozenset({names.index(node)}),
        from_ns=instant(filters["from_s"]),
        to_ns=instant(filters["to_s"]),
    )
    if target is not None and target.at_ns is None and run.model != MODEL:
        raise UsageError(f"--around {around}: only a {MODEL} has values and offsets, and this run has a {run.model}")
    hit = _hits(folder, target)
    first_ns, last_ns = wanted.from_ns, wanted.to_ns
    events = [
        event
        for event in read_events_of(folder, run)
        if (first_ns is None or event.time_ns >= first_ns)
        and (last_ns is None or event.time_ns <= last_ns)
        and (node is None or history_text.concerns_node(event, node))
    ]
    style = text_style()
    if target is not None:
        style = msgspec.structs.replace(style, width=style.width - history_text.MARGIN)
    layout = history_text.Layout.of(model, names, style)
    operations = (
        history_text.operation_line(one, model, names, run.origin_ns, hit=hit(one), layout=layout)
        for one in history_rows.operations(history_rows.tables_of(folder, "operations"), wanted)
    )
    merged = heapq.merge(operations, history_text.event_lines(events, run, style), key=lambda line: line.time_ns)
    if target is None:
        yield layout.head
        yield from _all(merged, [option for option, name in _FILTERS.items() if filters[name] not in ((), None)])
        return
    yield " " * history_text.MARGIN + layout.head
    near = _nearest(merged, target.at_ns) if target.value is None and target.offset is None else merged
    yield from history_text.lines_around(near, context, lambda line: line.hit)


def _all(lines: Iterator[Any], given: list[str]) -> Iterator[str]:
    """Every line; one more says so if no operation is among them, and which options were given."""
    operations = 0
    for line in lines:
        operations += not line.event
        yield line.text
    if not operations:
        yield f"no operation fits {', '.join(given)}" if given else "there is no operation in this history"


def _hits(folder: Path, target: Sought | None) -> Any:
    """A predicate: whether an operation concerns what is sought."""
    from reports.history import rows as history_rows

    if target is None or (target.value is None and target.offset is None):
        return lambda _one: False
    read = history_rows.reads_of(
        history_rows.tables_of(folder, "reads"), key=target.key, value=target.value, offset=target.offset
    )

    def concerns(one: Any) -> bool:
        row = one.row
        if (one.worker, one.op) in read:
            return True
        if target.value is not None:
            return bool((row["writer"], row["sequence"]) == target.value)
        return bool(row["writer"] >= 0 and row["offset"] == target.offset)

    return concerns


def _nearest(lines: Iterator[Any], at_ns: int | None) -> Iterator[Any]:
    """The lines with the first operation at or behind an instant as the one that was looked for."""
    found = False
    for line in lines:
        if not found and not line.event and (at_ns is None or line.time_ns >= at_ns):
            found = True
            yield msgspec.structs.replace(line, hit=True)
        else:
            yield line
