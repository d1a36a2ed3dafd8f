"""The consistency models that somebody names with ``--consistency-model``: known ones, each once, of transactions."""

from collections.abc import Mapping
from typing import Any, Final

from chaos.core.errors import UsageError
from chaos.workload.base import Workload

FIELD: Final = "consistency_models"
CHECK: Final = "transactions"
"""The check that holds a run to them."""


def consistency(values: Mapping[str, Any], workload: Workload) -> dict[str, tuple[str, ...]]:
    """The field of the models that were named, by their usual names, in their order; no field where none was.

    Raises:
        UsageError: there is no such model, or the workload makes no transactions.
    """
    if not values.get(FIELD):
        return {}
    from checkers.txn.models import model_named

    found = tuple(dict.fromkeys(map(model_named, values[FIELD])))
    if CHECK not in workload.checks:
        raise UsageError(
            f"--consistency-model {','.join(found)}: the workload {workload.name} makes no transactions; "
            "add --workload list-append or rw-register"
        )
    return {FIELD: found}
