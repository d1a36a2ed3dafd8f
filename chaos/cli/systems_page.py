"""The page of systems in the documentation, from the installed packages: ``python -m chaos.cli.systems_page``."""

from collections.abc import Iterable, Iterator

from chaos import plugins
from chaos.options.offers import WORKLOADS, offers

_HEAD = """\
# Systems and workloads

Which systems can be tested, in which versions, and what can clients do on each? This page is made from the packages
(`python -m chaos.cli.systems_page`); `chaos list systems` and `chaos list workloads` show it, with those of installed
plugins.
"""
_VERSIONS = """\
## Systems

`--system-version V` tests another version, `--artifacts FOLDER` your own build
([command-line.md](command-line.md#the-version)).
"""
_WORKLOADS = """\
## Workloads

`--workload NAME` says what clients do. On some systems a workload needs settings, which the page of the system names.
"""


def page() -> str:
    """The page, in Markdown."""
    found = offers()
    versions = ((_link(one.name), one.help, one.version, one.others or "none", one.build or "-") for one in found)
    workloads = (
        (f"`{row.name}`", row.help, ", ".join(_link(one.name) for one in found if row.name in one.workloads) or "-")
        for row in plugins.list_group(WORKLOADS)
    )
    return "\n".join(
        [
            _HEAD,
            _VERSIONS,
            *_table(("system", "what it is", "its own version", "other versions", "the folder of a build"), versions),
            "",
            _WORKLOADS,
            *_table(("workload", "what clients do", "systems"), workloads),
            "",
        ]
    )


def _link(system: str) -> str:
    return f"[{system}](../systems/{system}.md)"


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    yield from (f"| {' | '.join(cells)} |" for cells in rows)


if __name__ == "__main__":
    print(page(), end="")
