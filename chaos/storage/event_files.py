"""Events read from their files and from their table.

The one place where claims that were written once are put back: everything behind it knows whole observations.
"""

from collections.abc import Iterable, Iterator

import msgspec

from chaos.basics.checksums import found_checksum, is_unaltered
from chaos.core.errors import HistoryError
from chaos.core.events import Event, Fault, Note, Observation, Phase
from chaos.storage.repeated_claims import ClaimReader, ClaimWriter
from chaos.storage.storage_path import Place

_decoder = msgspec.json.Decoder(Phase | Fault | Observation | Note)


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
            yield reader.whole(_decoder.decode(line))
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
    return (reader.whole(_decoder.decode(text)) for text in texts)


def identity_of(text: bytes | str) -> tuple[int, str, str, str]:
    """When an event was, of what kind, name and node: what stays the same however it was written.

    Raises:
        msgspec.DecodeError: the text is no event.
    """
    event = _decoder.decode(text)
    name, node = (getattr(event, field, None) or "" for field in ("name", "node"))
    return event.time_ns, type(event).__name__, name, node
