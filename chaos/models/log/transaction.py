"""What the producer of a transaction decides, and whether a send that took effect must be found in the log.

A transactional send is a half message, which nobody may be given, and the producer's word about it. The
word is drawn before the half message leaves and never changes, so whoever is asked about it answers alike.
Systems' clients tell it.
"""

from enum import IntEnum
from typing import Final


class Decision(IntEnum):
    """The producer's word about a half message: what a ``Transact`` carries. Part of the on-disk format."""

    COMMIT = 1
    ROLLBACK = 2
    COMMIT_WHEN_ASKED = 3  # says nothing by itself: the system has to ask
    ROLLBACK_WHEN_ASKED = 4
    NEVER = 5  # does not even answer when it is asked

    @property
    def word(self) -> str:
        """The word used in literals, tables and reports."""
        return self.name.lower().replace("_", "-")


COMMITTING: Final = (Decision.COMMIT, Decision.COMMIT_WHEN_ASKED)
AT_ONCE: Final = (Decision.COMMIT, Decision.ROLLBACK)
WHEN_ASKED: Final = (Decision.COMMIT_WHEN_ASKED, Decision.ROLLBACK_WHEN_ASKED)
