"""What minimq promises under its settings (SEMANTICS 13). Pure."""

from collections.abc import Mapping

from chaos.storage.runinfo import Promises
from cluster.systems.minimq import config
from cluster.systems.minimq import settings as keys


def of(settings: Mapping[str, str]) -> Promises:
    """Everything: no anomaly is by design."""
    within_s = config.RECOVERS_WITHIN_S + keys.longer_s(settings)
    minimum = int(settings["broker.minInSyncReplicas"])
    after_s = float(settings["controller.brokerTimeout"]) + config.ELECTED_WITHIN_S
    return Promises(
        min_in_sync=minimum,
        replicas_read=True,
        progress_margin_s=config.PROGRESS_MARGIN_S,
        recovers_within_s=within_s,
        rejoins_within_s=within_s,
        fails_over_after_s=after_s,
        serves_without_minority_s=within_s
        if int(settings["broker.minInSyncReplicas"]) <= keys.BROKERS // 2 + 1
        else 0.0,
    )
