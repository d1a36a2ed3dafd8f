"""What a field of a run is called on the command line and in files."""

from typing import Final

_NAMED: Final = {
    "body_bytes": "message-size",
    "recovery_s": "recovery-time",
    "checks": "check",
    "consistency_models": "consistency-model",
    "reports": "report",
    "thresholds": "threshold",
}
"""Fields whose long option is not the field without its unit."""

ALIASES: Final = {"concurrency": "clients"}
"""Names that OpenChaos has for a field."""


def long_option(field: str) -> str:
    """The long option of a field of ``Experiment`` or of a backend, without its dashes."""
    return _NAMED.get(field, field.removesuffix("_s").replace("_", "-"))
