"""Runs on a learner's host: has the node added to the cluster as a learner, and becomes its process.

``join.py PEER_URL DATA_FOLDER CLIENT_URL... -- PROGRAM FLAG...``: one of the members is asked after the other until the
cluster knows the node, which may take until it is five seconds old. A node that has data was added before. Standard
library only: the file is put on the host by itself.
"""

import json
import os
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_TIMEOUT_S = 5.0
_PAUSE_S = 0.3


def ask(url: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """What a member answers. Raises OSError or ValueError."""
    request = urllib.request.Request(f"{url}{path}", json.dumps(body).encode())  # noqa: S310 - http, by who wrote it
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
        said: dict[str, Any] = json.load(answer)
        return said


def is_known(url: str, peer: str) -> bool:
    """Whether a member knows the node."""
    members = ask(url, "/v3/cluster/member/list", {}).get("members", [])
    return any(peer in member.get("peerURLs", []) for member in members)


def add(urls: Sequence[str], peer: str) -> None:
    """Have the node added, by whichever member can."""
    while True:
        for url in urls:
            try:
                if is_known(url, peer):
                    return
                ask(url, "/v3/cluster/member/add", {"peerURLs": [peer], "isLearner": True})
            except (OSError, ValueError) as error:
                print(f"{url}: {error}", flush=True)
            time.sleep(_PAUSE_S)


def main(argv: Sequence[str]) -> None:
    """Join and become the program."""
    at = argv.index("--")
    peer, data, *urls = argv[:at]
    if not Path(data, "member").is_dir():
        add(urls, peer)
    os.execv(argv[at + 1], list(argv[at + 1 :]))  # noqa: S606 - it takes this process' place


if __name__ == "__main__":
    main(sys.argv[1:])
