"""Every way in which chaos says no, each with the exit code it ends in.

::

    ChaosError              255  the harness or the deployment broke
    ├── UsageError          254  bad arguments or configuration
    │   └── CapabilityError 254  this machine cannot do it; the message ends with the command that helps
    ├── HistoryError        254  a history that cannot be read: file, place, fault
    ├── DeployError         255  the system did not come up or did not stay up
    ├── DeadlineError       255  a wait ran out; the message says what was being waited for
    └── RunInterrupted      130  the person at the keyboard asked to stop

A message is one line: what, where, what to do. Errors are not for control flow: no caller catches a subclass to go on
as if nothing had happened.
"""

from typing import ClassVar


class ChaosError(Exception):
    """The harness or the deployment broke."""

    exit_code: ClassVar[int] = 255


class UsageError(ChaosError):
    """Bad arguments or configuration."""

    exit_code = 254


class CapabilityError(UsageError):
    """The machine lacks something; the message ends with the command that gives it."""


class HistoryError(ChaosError):
    """A history that cannot be read."""

    exit_code = 254


class DeployError(ChaosError):
    """The system under test did not come up, or a node that should live is gone."""


class DeadlineError(ChaosError):
    """A wait ran out."""


class RunInterrupted(ChaosError):  # noqa: N818 - not an error of anybody's
    """Stopped by the user; the history is kept."""

    exit_code = 130
