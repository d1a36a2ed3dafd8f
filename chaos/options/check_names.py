"""The checks that somebody names with ``--check``, of a run or of a stored one: known ones, each once."""

from collections.abc import Iterable

from chaos.core.errors import UsageError
from chaos.plugins import did_you_mean


def check_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The names in texts such as ``no-loss,order``, in their order.

    Raises:
        UsageError: there is no such check here, or it does not load.
    """
    names = tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",")))
    if not names:
        return ()
    if "" in names:
        raise UsageError(f"--check {','.join(texts)}: a name is missing; write one of chaos list checks")
    from checkers.engine.installed_checks import broken_checks, checks

    known = checks()
    for name in names:
        if name not in known:
            why = broken_checks().get(name)
            raise UsageError(f"--check {name}: {why or f'no such check{did_you_mean(name, known)}'}")
    return names
