"""The program that tries connections between hosts: echoes what it gets, or connects and counts what comes back.

Plain standard library, fed to ``python3 -I -S -`` by ``cluster.network.connection_matrix``; its one argument is JSON::

    {"do": "listen", "port": 25000, "hold_s": 30}                   -> {"pid": 71}, and goes on in the background
    {"do": "connect", "to": [["198.18.0.11", 25000], …], "bytes": 60000, "wait_s": 1.0}
                                              -> [{"began": "ok", "echoed": 60000, "ended": "ok"}, …], one per peer

``began``: how the connection was answered: ``ok``, ``refused``, ``timeout`` or the error's name. ``echoed``: how many
bytes came back, of 16 at first and then of pieces of 8,192. ``ended``: how the last piece went. With ``bytes`` 0 it
connects and sends nothing.
"""

import errno
import json
import os
import select
import signal
import socket
import sys
import threading
import time

_FIRST_BYTES, _PIECE_BYTES = 16, 8_192
_CONNECTIONS = 64
_WORDS = {errno.ECONNREFUSED: "refused", errno.ECONNRESET: "reset", errno.EPIPE: "reset"}


def listen(port: int, hold_s: int) -> None:
    """Echo in the background, ``hold_s`` at most."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", port))  # noqa: S104 - a namespace or host in a test network
    listener.listen(_CONNECTIONS)
    if (pid := os.fork()) > 0:
        print(json.dumps({"pid": pid}), flush=True)
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    signal.alarm(hold_s)
    _echo(listener)


def _echo(listener: socket.socket) -> None:
    """Give everybody back what they send; a connection that does not take it is left."""
    known: list[socket.socket] = []
    while True:
        for ready in select.select([listener, *known], [], [])[0]:
            try:
                if ready is listener:
                    connection = listener.accept()[0]
                    connection.settimeout(1.0)
                    known.append(connection)
                    continue
                data = ready.recv(1 << 16)
                ready.sendall(data)
            except OSError:
                data = b""
            if not data and ready in known:
                known.remove(ready)
                ready.close()


def _word(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    return _WORDS.get(error.errno or 0) or errno.errorcode.get(error.errno or 0, type(error).__name__)


def attempt(address: str, port: int, wanted: int, wait_s: float) -> dict[str, str | int]:
    """One connection; ``wait_s`` for it to begin and for each piece to come back."""
    found: dict[str, str | int] = {"began": "ok", "echoed": 0, "ended": "ok"}
    try:
        connection = socket.create_connection((address, port), timeout=wait_s)
    except OSError as error:
        return {**found, "began": _word(error), "ended": ""}
    echoed = 0
    with connection:
        try:
            while echoed < wanted:
                piece = min(_PIECE_BYTES if echoed else _FIRST_BYTES, wanted - echoed)
                connection.sendall(bytes(piece))
                until_s, got = time.monotonic() + wait_s, 0
                while got < piece:
                    connection.settimeout(max(0.001, until_s - time.monotonic()))
                    data = connection.recv(piece - got)
                    if not data:
                        raise ConnectionResetError(errno.ECONNRESET, "closed")
                    got += len(data)
                    echoed += len(data)
        except OSError as error:
            found["ended"] = _word(error)
    return {**found, "echoed": echoed}


def connect(to: list[tuple[str, int]], wanted: int, wait_s: float) -> None:
    """Try all at the same time."""
    results: list[dict[str, str | int]] = [{} for _ in to]

    def one(place: int) -> None:
        results[place] = attempt(*to[place], wanted, wait_s)

    threads = [threading.Thread(target=one, args=(place,)) for place in range(len(to))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(results))


def main() -> None:
    """Do as ordered."""
    orders = json.loads(sys.argv[1])
    try:
        if orders["do"] == "listen":
            listen(orders["port"], orders["hold_s"])
        else:
            connect(orders["to"], orders["bytes"], orders["wait_s"])
    except OSError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
