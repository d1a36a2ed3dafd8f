"""The page of faults in the documentation, made from their classes: ``python -m nemesis.faults.faults_page``."""

from collections.abc import Iterator

from nemesis.faults.fault import Fault
from nemesis.faults.params import params_of
from nemesis.faults.registry import faults
from nemesis.plan.nemesis_names import catalog

_HEAD = """\
# Faults

Which faults are there, what do they hit, and what can be set? This page is made from the faults' classes
(`python -m nemesis.faults.faults_page`); `chaos list nemeses` shows every name with its help.

A nemesis is `NAME[:PARAM=VALUE[,PARAM=VALUE]][@role[+role]]`, e.g. `random-loss:probability=0.5@broker`. In a YAML file
the same is `nemesis: {random-loss@broker: {probability: 0.5}}`.

`leader-` hits the leader of a subject: of a replica group, of a partition, of the controllers. Without a suffix each
fault draws one replica group or partition; `@SUBJECT[+SUBJECT]` names some, `@controller` the controllers, `@all` all
replica groups or partitions at once.
"""


def page() -> str:
    """The page, in Markdown."""
    return "\n".join([_HEAD, *(line for fault in faults().values() for line in _section(fault))])


def _section(fault: type[Fault]) -> Iterator[str]:
    yield f"## {fault.name}\n"
    said = fault.help.format("the targets")
    yield f"{said[0].upper()}{said[1:]}. It hits {fault.hits}.\n"
    yield "Names: " + ", ".join(f"`{one.name}`" for one in catalog().values() if one.fault == fault.name) + ".\n"
    yield f"Hosts need: {', '.join(sorted(fault.needs))}.\n"
    if fault.container is not None:
        yield f"With `--kill container`: {fault.container.help.format('the targets')}.\n"
    if params_of(fault.Params):
        yield "| parameter | default | may be | meaning |"
        yield "| --- | --- | --- | --- |"
        yield from (f"| `{one.name}` | {one.default:g} | {one.range} | {one.help} |" for one in params_of(fault.Params))
        yield ""


if __name__ == "__main__":
    print(page(), end="")
