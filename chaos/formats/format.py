"""What is known of a format of another tool's histories; each is found by its name through ``chaos.formats``."""

from collections.abc import Callable

import msgspec

from chaos.formats.operations import Operations
from chaos.storage.storage_path import Place


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One format.

    ``help``: whose histories these are, in a line. ``read``: a history as paired operations; raises HistoryError,
    naming file, line and fault. ``read_independent``: likewise where values are ``[key value]``; None where each
    operation names its key itself. ``usual_model``: what such histories are judged by unless somebody asks for another
    model; None where they say nothing of what was tested. ``is_folder``: a history is a folder, and ``read`` says what
    is wrong with one.
    """

    help: str
    read: Callable[[Place], Operations]
    read_independent: Callable[[Place], Operations] | None = None
    usual_model: str | None = None
    is_folder: bool = False
