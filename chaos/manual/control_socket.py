"""The control socket of a cluster that is kept up by hand, and what goes through it.

One question a connection, a JSON line; the answer is any number of lines for people and then its end. The socket is
reached through its folder's descriptor, because a path to a socket may have 107 bytes only.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from chaos.core.errors import ChaosError, UsageError

SOCKET: Final = "control.sock"
QUESTION_TIMEOUT_S: Final = 10.0
_LINE_BYTES: Final = 1 << 16
_WAITING: Final = 8

Verb = Literal["status", "inject", "heal", "down"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question. ``duration_s``: None until it is healed by hand."""

    verb: Verb
    nemesis: str = ""
    duration_s: float | None = None
    fault_nodes: tuple[str, ...] = ()
    seed: int = 0


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A node now: the subjects that it leads, its epoch if it leads one, the fault in force on it (empty: none)."""

    node: str
    role: str
    address: str
    state: str
    leads: tuple[str, ...] = ()
    epoch: int | None = None
    fault: str = ""


class Line(msgspec.Struct, frozen=True, tag="line"):
    """A line for people."""

    text: str


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """The end of an answer: an exit code, why if it is not 0, and the nodes if they were asked for."""

    code: int = 0
    error: str = ""
    nodes: tuple[NodeStatus, ...] = ()


Answer = Line | Done


@contextmanager
def _place(folder: Path) -> Iterator[str]:
    """A path to the folder's socket that is short enough."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        raise UsageError("no cluster is up; see chaos up --help") from None
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


def answers_there(folder: Path) -> bool:
    """Whether a cluster is kept up in this folder."""
    with suppress(OSError, UsageError), _place(folder) as path, socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(QUESTION_TIMEOUT_S)
        connection.connect(path)
        return True
    return False


def ask(folder: Path, question: Question, timeout_s: float) -> Iterator[Answer]:
    """Put a question and give the answer as it comes; the last is ``Done``.

    Raises:
        UsageError: no cluster is kept up in this folder.
        ChaosError: whoever does ended, or said nothing for ``timeout_s``.
    """
    decoder = msgspec.json.Decoder(Answer)
    with _place(folder) as path, socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(path)
        except OSError:
            raise UsageError("no cluster is up in this store; see chaos up, and chaos clean if one died") from None
        try:
            connection.sendall(msgspec.json.encode(question) + b"\n")
            with connection.makefile("rb") as lines:
                for line in lines:
                    answer: Answer = decoder.decode(line)
                    yield answer
                    if isinstance(answer, Done):
                        return
        except TimeoutError:
            raise ChaosError(f"the cluster said nothing for {timeout_s:g} s; its words are in {folder}/logs") from None
        except OSError as error:
            raise ChaosError(f"the cluster's process went away: {error.strerror}; see {folder}/logs") from None
    raise ChaosError(f"the cluster's process ended before its answer did; its words are in {folder}/logs")


class ControlSocket:
    """The cluster's end: each question is answered in a thread of its own.

    Questions may be put as soon as it is made, and are answered from ``serve`` on.
    """

    def __init__(self, folder: Path, answer: Callable[[Question, Callable[[str], None]], Done]) -> None:
        self._answer = answer
        self._folder = folder
        self._socket = socket.socket(socket.AF_UNIX)
        (folder / SOCKET).unlink(missing_ok=True)
        with _place(folder) as path:
            self._socket.bind(path)
        self._socket.listen(_WAITING)
        self._busy = threading.BoundedSemaphore(_WAITING)

    def serve(self) -> None:
        """Begin to answer."""
        threading.Thread(target=self._answer_each, name="control-socket", daemon=True).start()

    def _answer_each(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed
            self._busy.acquire()
            threading.Thread(target=self._one, args=(connection,), name="question", daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        def send(answer: Answer) -> None:
            with suppress(OSError):  # who asked may be gone; what was asked for is done all the same
                connection.sendall(msgspec.json.encode(answer) + b"\n")

        try:
            connection.settimeout(QUESTION_TIMEOUT_S)
            with connection, connection.makefile("rb") as lines:
                line = lines.readline(_LINE_BYTES)
                if not line:
                    return
                try:
                    done = self._answer(msgspec.json.decode(line, type=Question), lambda text: send(Line(text)))
                except ChaosError as error:
                    done = Done(code=error.exit_code, error=str(error))
                except Exception as error:  # noqa: BLE001 - a question that breaks must not end the cluster
                    done = Done(code=255, error=f"{type(error).__name__}: {error}")
                send(done)
        except OSError:
            return
        finally:
            self._busy.release()

    def close(self) -> None:
        """Close the socket and remove it."""
        self._socket.close()
        (self._folder / SOCKET).unlink(missing_ok=True)
