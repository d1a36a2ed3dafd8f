"""Nemeses as they are typed: with an example of each parameter that somebody must give."""

from nemesis.faults.params import must_be_given
from nemesis.plan.nemesis_names import catalog


def typed(name: str) -> str:
    """A name of the catalog as it can be planned."""
    entry = catalog()[name]
    needed = () if entry.fault is None else must_be_given(entry.how.Params)
    said = ",".join(f"{one.name}={one.example}" for one in needed)
    return f"{name}:{said}" if said else name


def plain_names() -> list[str]:
    """The names of the catalog that can be typed alone."""
    return [name for name in catalog() if typed(name) == name]
