"""tinykv, a key-value server: ``python3 server.py ADDRESS PORT FILE DURABLE``. It imports nothing of chaos.

A request is a line of JSON, and so is its answer. With DURABLE ``true`` a change is in the file before it is answered.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any


class Store:
    """Values by key, as the file has them."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        path.parent.mkdir(exist_ok=True)
        path.touch()
        self._values: dict[str, int] = dict(json.loads(line) for line in path.read_text().splitlines())
        self._file = path.open("a", buffering=1) if durable else None

    def answer(self, ask: dict[str, Any]) -> dict[str, Any]:
        """Do what a request asks for."""
        found = self._values.get(ask["key"])
        if ask["do"] == "cas" and found != ask["expected"]:
            return {"refused": "another value is there"}
        if ask["do"] != "read":
            if self._file is not None:
                self._file.write(json.dumps([ask["key"], ask["value"]]) + "\n")
            self._values[ask["key"]] = ask["value"]
        return {"value": found}


async def serve(address: str, port: int, store: Store) -> None:
    """Answer until the process is ended."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(json.dumps(store.answer(json.loads(line))).encode() + b"\n")
        writer.close()

    server = await asyncio.start_server(talk, address, port)
    print(f"tinykv serves on {address}:{port}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    _, own, at, file, safe = sys.argv
    asyncio.run(serve(own, int(at), Store(Path(file), durable=safe == "true")))
