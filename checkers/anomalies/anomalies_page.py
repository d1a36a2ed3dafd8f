"""The page of anomalies in the documentation, from the catalogue: ``python -m checkers.anomalies.anomalies_page``."""

from collections.abc import Iterable, Iterator
from typing import Final

from chaos.core.anomaly_kind import RUNS, AnomalyKind
from checkers.anomalies.catalogue import built_in

_HEAD: Final = """\
# Anomalies

What can a verdict name, what does it mean, and what should have happened instead? This page is made from the catalogue
(`python -m checkers.anomalies.anomalies_page`); `chaos list anomalies` shows it, with those of installed plugins.

An anomaly makes a verdict *invalid*, or *unknown* where it only says that the answer is open. *May be allowed* says
what may make an anomaly part of the design. A system does so by its promises ([semantics.md](../semantics.md) 13), the
format of an imported file by its conventions, and the consistency models that were asked for where they do not forbid
it. Where it says *no*, nothing can. If anomalies have one cause, the strongest is told first, with the others under it.
"""
_ALLOWED: Final = {
    "promise": "by a promise",
    "nobody": "no",
    "format": "by the format",
    "models": "by the models asked for",
}
_COLUMNS: Final = ("name", "seen", "should be", "verdict", "may be allowed", "defined in")


def page() -> str:
    """The page, in Markdown."""
    every = built_in().values()
    own = [kind for kind in every if set(RUNS) & set(kind.where)]
    findings = [kind for kind in own if kind.rule != "12"]
    assumed = [kind for kind in own if kind.rule == "12"]
    files = [kind for kind in every if not set(RUNS) & set(kind.where)]
    return "\n".join(
        [
            _HEAD,
            *_section("Findings, the strongest first", findings),
            *_section("Assumptions that did not hold", assumed),
            *_section("In imported histories only", files),
        ]
    )


def _section(title: str, kinds: Iterable[AnomalyKind]) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"| {' | '.join(_COLUMNS)} |"
    yield f"|{' --- |' * len(_COLUMNS)}"
    for kind in kinds:
        allowed = _ALLOWED[kind.excused_by]
        yield (
            f"| `{kind.name}` | {kind.meaning} | {kind.expected} | {kind.consequence} | {allowed} | {_defined(kind)} |"
        )
    yield ""


def _defined(kind: AnomalyKind) -> str:
    """Where the rule is: a number of the contract, or a page."""
    return f"[{kind.rule}]({kind.rule}.md)" if kind.rule.isalpha() else f"[rule {kind.rule}](../semantics.md)"


if __name__ == "__main__":
    print(page(), end="")
