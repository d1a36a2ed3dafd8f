"""Runs on a host of the cluster's network: saves a member's snapshot, or looks whether one is whole.

``ORDERS``: JSON, ``{"host": …, "port": …, "file": …}`` or ``{"check": FILE}``. A snapshot is the member's database with
its SHA-256 behind it; printed is how long a whole one is, else null. Standard library only: it comes by standard input.
"""

import base64
import hashlib
import json
import socket
import sys
from pathlib import Path
from typing import Any

_DIGEST = 32
_TIMEOUT_S = 20


def save(orders: dict[str, Any]) -> None:
    """Write what the member sends, piece by piece; exits with a line if it sends an error."""
    head = f"POST /v3/maintenance/snapshot HTTP/1.0\r\nHost: {orders['host']}\r\nContent-Length: 2\r\n\r\n{{}}"
    with (
        socket.create_connection((orders["host"], orders["port"]), _TIMEOUT_S) as link,
        Path(orders["file"]).open("wb") as file,
    ):
        link.sendall(head.encode())
        lines = link.makefile("rb")
        while lines.readline().strip():
            pass
        for line in lines:
            said = json.loads(line)
            if "result" not in said:
                sys.exit(f"the member said {str(said)[:200]}")
            file.write(base64.b64decode(said["result"].get("blob", "")))


def whole_bytes(path: str) -> int | None:
    """How long a snapshot is; None if it is not there, is empty, or its digest is another."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    data, digest = content[:-_DIGEST], content[-_DIGEST:]
    return len(content) if data and hashlib.sha256(data).digest() == digest else None


if __name__ == "__main__":
    ordered = json.loads(sys.argv[1])
    if "check" in ordered:
        print(json.dumps(whole_bytes(ordered["check"])))
    else:
        save(ordered)
