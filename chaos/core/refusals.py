"""By what rule a failed operation was refused by design (SEMANTICS 18, i), for verdicts and for live counts. Pure.

A node that must not serve refuses clients that stay on it. Only errors of such clients that failed for certain are
asked about.
"""

from typing import Final

REFUSED: Final = "refused"
"""The word under which such operations are counted while a run goes, beside those of the record types."""


def is_refusal(error: str | None, refusals: tuple[str, ...]) -> bool:
    """Whether an error is one by which nodes refuse what they must not serve; ``refusals``: how these errors begin."""
    return bool(error) and bool(refusals) and " ".join(str(error).split()).startswith(refusals)
