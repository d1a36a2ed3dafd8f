"""Runs on a host of the cluster's network: asks members over HTTP, all at the same time, and prints the answers.

``ask.py REQUESTS``: JSON, a list of ``{"host": …, "port": …, "path": …, "body": … or null, "timeout_s": …}``; without a
body it is a GET. Printed is a list of ``{"status": …, "body": …}``, or of ``{"error": …}`` where there was no answer.
Standard library only, and little of it: the program comes by standard input and must start at once on a busy host.
"""

import json
import socket
import sys
import threading
from typing import Any

_PIECE = 1 << 16


def ask(asked: dict[str, Any]) -> bytes:
    """All that a member sends back; the connection ends with its answer (HTTP/1.0). Raises OSError."""
    body = b"" if asked["body"] is None else json.dumps(asked["body"]).encode()
    word = "GET" if asked["body"] is None else "POST"
    head = f"{word} {asked['path']} HTTP/1.0\r\nHost: {asked['host']}\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((asked["host"], asked["port"]), asked["timeout_s"]) as link:
        link.sendall(head.encode() + body)
        received = b""
        while piece := link.recv(_PIECE):
            received += piece
    return received


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request, or why there is none."""
    try:
        head, end, body = ask(asked).partition(b"\r\n\r\n")
        if not end:
            return {"error": "the answer was cut off"}
        return {"status": int(head.split()[1]), "body": body.decode()}
    except (OSError, ValueError, IndexError) as error:
        return {"error": str(error) or type(error).__name__}


def main(requests: list[dict[str, Any]]) -> None:
    """Ask all at once."""
    answers: list[dict[str, Any]] = [{} for _ in requests]

    def fill(place: int) -> None:
        answers[place] = answer(requests[place])

    threads = [threading.Thread(target=fill, args=(place,)) for place in range(len(requests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(answers))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
