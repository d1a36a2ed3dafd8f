"""How far a long check is: a bar on a terminal, a line every half minute elsewhere, nothing for a short one.

On the error stream, so that verdicts stay alone on theirs. A stream that takes no more ends the showing and not the
check. Its thread ends with the block.
"""

import os
import threading
import time
from typing import IO, Any, Final, Self

SHOWN_AFTER_S: Final = 2.0
LINE_EVERY_S: Final = 30.0
_TICK_S: Final = 0.25
_CLOSE_TIMEOUT_S: Final = 5.0


def line(what: str, done: int, of: int, elapsed_s: float) -> str:
    """How far it is, in words."""
    return f"checking: {f'{done} of {of} {what}' if of else what}, {elapsed_s:.0f} s"


class Bar:
    """A listener for ``chaos.basics.progress``, and the thread that shows what it heard while the block lasts."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._terminal = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._heard = ("what there is to do", 0, 0)
        self._lines = 0
        self._picture: Any = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bar", daemon=True)

    def __call__(self, what: str, done: int, of: int) -> None:
        """Hear how far it is."""
        self._heard = (what, done, of)

    def __enter__(self) -> Self:
        self._began_s = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(timeout=_CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        try:
            while not self._over.wait(_TICK_S):
                self.show(time.monotonic() - self._began_s)
            self.close()
        except Exception:  # noqa: BLE001 - closed, full, gone: the check goes on without anybody who looks
            return

    def show(self, elapsed_s: float) -> None:
        """Draw, or write the line that is due."""
        if not self._terminal:
            if elapsed_s >= (self._lines + 1) * LINE_EVERY_S:
                self._lines = int(elapsed_s // LINE_EVERY_S)
                self._stream.write(line(*self._heard, elapsed_s) + "\n")
                self._stream.flush()
        elif elapsed_s >= SHOWN_AFTER_S:
            if self._picture is None:
                self._picture = _picture(self._stream)
            _, done, of = self._heard
            text = line(*self._heard, elapsed_s)
            self._picture.update(self._picture.task_ids[0], description=text, completed=done, total=of or None)
            self._picture.refresh()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._picture is not None:
            self._picture.stop()
            self._picture = None


def _picture(stream: IO[str]) -> Any:
    """A bar by rich that is drawn when asked and leaves no trace."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    class Kept(Console):
        """Rich's own answer to a broken pipe is to end the process."""

        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704 - called where the BrokenPipeError is handled

    console = Kept(file=stream, highlight=False, markup=False, emoji=False)
    columns = (BarColumn(), TextColumn("{task.description}", markup=False))
    picture = Progress(*columns, console=console, auto_refresh=False, transient=True)
    picture.add_task("", total=None)
    picture.start()
    return picture
