"""Runs on a host of the cluster's network: sends bytes to a node and prints the first frame that comes back.

``exchange_program.py ORDERS``: JSON, ``{"host": …, "port": …, "send": "…", "timeout_s": …}``, the bytes in base64.
Printed is what the frame holds, in base64. Standard library only: the program comes by standard input and knows nothing
of what it sends.
"""

import base64
import json
import socket
import struct
import sys

_LENGTH = struct.Struct(">I")
_MOST = 1 << 20


def read_exactly(link: socket.socket, size: int) -> bytes:
    """So many bytes. Raises OSError: the node has closed the connection."""
    received = b""
    while len(received) < size:
        piece = link.recv(size - len(received))
        if not piece:
            raise OSError("the node closed the connection")
        received += piece
    return received


def exchange(host: str, port: int, send: bytes, timeout_s: float) -> bytes:
    """What the first frame that comes back holds. Raises OSError: none does, or it is longer than 1 MiB."""
    with socket.create_connection((host, port), timeout_s) as link:
        link.sendall(send)
        (length,) = _LENGTH.unpack(read_exactly(link, _LENGTH.size))
        if length > _MOST:
            raise OSError(f"a frame of {length} bytes")
        return read_exactly(link, length)


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    try:
        held = exchange(orders["host"], orders["port"], base64.b64decode(orders["send"]), orders["timeout_s"])
    except OSError as error:
        sys.exit(str(error))
    print(base64.b64encode(held).decode())
