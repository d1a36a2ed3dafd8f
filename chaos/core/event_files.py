"""Events read from their files and from their table, also those that an older chaos wrote.

The one place where old statements about leaders become claims: everything behind it knows claims only.
"""

from collections.abc import Iterable, Iterator

import msgspec

from chaos.core.checksums import found_checksum, is_unaltered
from chaos.core.claims import ClaimReader, ClaimWriter
from chaos.core.errors import HistoryError
from chaos.core.events import Claim, Event, Fault, Note, Observation, Phase
from chaos.core.runinfo import OLD_CONTROLLERS, OLD_REPLICAS
from chaos.core.storage_path import Place


class _OldObservation(msgspec.Struct, frozen=True, kw_only=True, tag="observation"):
    """An observation up to schema 3: of one replica group, with its master, and of the controllers.

    ``epoch`` is a master's epoch or a controller's term, ``master_epoch`` the epoch that a controller gave ``master``.
    """

    time_ns: int
    asked_ns: int
    node: str
    alive: bool
    role: str | None = None
    epoch: int | None = None
    master: str | None = None
    sync_state_set: tuple[str, ...] | None = None
    sync_state_set_epoch: int | None = None
    master_epoch: int | None = None
    max_offsets: dict[str, int] | None = None
    error: str | None = None


def _claims(old: _OldObservation) -> tuple[Claim, ...] | None:
    if old.role is None and old.master is None:
        return None
    about = Claim(
        subject=OLD_REPLICAS,
        leader=old.master,
        epoch=old.master_epoch,
        members=old.sync_state_set,
        members_epoch=old.sync_state_set_epoch,
    )
    known = old.master is not None or old.sync_state_set is not None
    if old.role == "leader":
        own = Claim(subject=OLD_CONTROLLERS, leader=old.node, epoch=old.epoch)
        return (own, about) if known else (own,)
    if old.role != "master":
        return (about,) if known else ()
    if old.master in (None, old.node):
        return (msgspec.structs.replace(about, leader=old.node, epoch=old.epoch),)
    return Claim(subject=OLD_REPLICAS, leader=old.node, epoch=old.epoch), about


def _translated(old: _OldObservation) -> Observation:
    return Observation(
        time_ns=old.time_ns,
        asked_ns=old.asked_ns,
        node=old.node,
        alive=old.alive,
        role=old.role,
        claims=_claims(old),
        max_offsets=old.max_offsets,
        error=old.error,
    )


_decoder = msgspec.json.Decoder(Phase | Fault | Observation | Note | _OldObservation)


def _event_of(data: bytes | str) -> Event:
    event = _decoder.decode(data)
    return _translated(event) if isinstance(event, _OldObservation) else event


def read_events(path: Place, data: bytes | None = None) -> Iterator[Event]:
    """Yield the events of one file; a torn last line (no newline) is left out.

    Args:
        path: the file.
        data: its content, where it was read already.

    Raises:
        HistoryError: a line is damaged, or is not the one that was written there.
    """
    data = path.read_bytes() if data is None else data
    lines = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
    chained = any(found_checksum(line) is not None for line in lines[:2])  # an older chaos wrote none
    previous, reader = 0, ClaimReader()
    for number, line in enumerate(lines, 1):
        if chained and not is_unaltered(line, previous):
            raise HistoryError(f"{path}:{number}: its checksum is missing or wrong; the file was altered")
        previous = found_checksum(line) or 0
        try:
            yield reader.whole(_event_of(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise HistoryError(f"{path}:{number}: an event that cannot be read: {error}") from None


def texts_of(events: Iterable[Event]) -> list[str]:
    """The events, in order, as the table of events holds them."""
    encoder, writer = msgspec.json.Encoder(), ClaimWriter()
    return [encoder.encode(writer.shortened(event)).decode() for event in events]


def events_in(texts: Iterable[str]) -> Iterator[Event]:
    """The events of ``texts_of``.

    Raises:
        msgspec.DecodeError: a text is no event.
    """
    reader = ClaimReader()
    return (reader.whole(_event_of(text)) for text in texts)


def identity_of(text: bytes | str) -> tuple[int, str, str, str]:
    """When an event was, of what kind, name and node: what stays the same however it was written.

    Raises:
        msgspec.DecodeError: the text is no event.
    """
    event = _event_of(text)
    name, node = (getattr(event, field, None) or "" for field in ("name", "node"))
    return event.time_ns, type(event).__name__, name, node
