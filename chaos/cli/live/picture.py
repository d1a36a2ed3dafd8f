"""The live picture of a run on a terminal, by rich, drawn again and again below the lines."""

import time
from typing import IO, Any, Final

from chaos.cli.live.news import Board, age_s, counts, sparkline

_REFRESH_PER_S: Final = 4


class Picture:
    """The picture below the lines."""

    def __init__(self, stream: IO[str]) -> None:
        from rich.console import Console
        from rich.live import Live

        class Kept(Console):
            """Rich's own answer to a broken pipe is to end the process."""

            def on_broken_pipe(self) -> None:
                raise  # noqa: PLE0704 - called where the BrokenPipeError is handled

        console = Kept(file=stream, highlight=False, markup=False, emoji=False)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()
        self._drawn = 0.0

    def show(self, lines: list[str], board: Board) -> None:
        """Write lines, and draw what is known if that is due."""
        for line in lines:
            self._live.console.print(line, soft_wrap=True)
        if board.opening is None or board.beat is None or time.monotonic() - self._drawn < 1 / _REFRESH_PER_S:
            return
        self._drawn = time.monotonic()
        self._live.update(picture(board), refresh=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._live.stop()


def picture(board: Board) -> Any:
    """The live picture as something rich can draw. Pure."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    opening, beat = board.opening, board.beat
    assert opening is not None
    assert beat is not None
    faults = Text("\n".join(board.in_force()) or "no fault", style="bold red" if board.faults else "")
    rate = f"{board.rates[-1]:.0f}/s" if board.rates else "-"
    rows = [
        Text(board.roles()),
        faults,
        Text(f"{counts(board.changes(), beat)}   {rate:>7} {sparkline(board.rates)}"),
        Text(
            f"slowest ack {beat.totals.worst_ack_s * 1000:.0f} ms   last ack {age_s(beat):.1f} s ago   "
            f"in flight {beat.totals.in_flight}   lag {beat.totals.worst_lag_s * 1000:.0f} ms",
            style="yellow" if age_s(beat) > 1 else "",
        ),
    ]
    return Panel(Group(*rows), title=opening.title, subtitle=f"{board.phase} {board.clock()}", title_align="left")
