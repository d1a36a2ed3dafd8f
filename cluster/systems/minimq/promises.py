"""What minimq promises under its settings (SEMANTICS 13). Pure."""

from collections.abc import Mapping

from chaos.storage.runinfo import Promises
from cluster.systems.minimq import config
from cluster.systems.minimq import settings as keys


def of(settings: Mapping[str, str]) -> Promises:
    """Everything: no anomaly is by design."""
    within_s = config.RECOVERS_WITHIN_S + keys.longer_s(settings)
    return Promises(
        min_in_sync=int(settings["broker.minInSyncReplicas"]),
        replicas_read=True,
        progress_margin_s=config.PROGRESS_MARGIN_S,
        recovers_within_s=within_s,
        rejoins_within_s=within_s,
        fails_over_after_s=float(settings["controller.brokerTimeout"]) + config.ELECTED_WITHIN_S,
    )
