"""What is answered at all, and what every answer says of itself. Pure.

A page of another site may make a reader's browser ask us. It must learn nothing and change nothing: only GET and HEAD
are known, there is nothing to change, no other site may read an answer, and a name that another site's owner can
point here (DNS rebinding) is not ours.
"""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

METHODS: Final = ("GET", "HEAD")
LONGEST: Final = 2000
"""Characters of an address."""
_HOST: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\[\]:]+)(?::\d{1,5})?")
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src {connect}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Refusal(NamedTuple):
    """Why a request is not answered: a status of HTTP and a line."""

    status: int
    why: str


def refusal(method: str, hosts: Sequence[str], headers: Mapping[str, str], bound: str) -> Refusal | None:
    """Why a request is refused, None if it is not.

    Args:
        method: its method.
        hosts: every Host header that it has.
        headers: its others, of which ``Sec-Fetch-Site`` and ``Sec-Fetch-Mode`` tell who made the browser ask.
        bound: the address or name that the server listens on, as it was asked for.
    """
    if method not in METHODS:
        return Refusal(405, "only GET and HEAD are answered: there is nothing to change here")
    if len(hosts) != 1:
        return Refusal(400, "one Host header is needed")
    if not is_our_host(hosts[0], bound):
        return Refusal(403, "this server is asked for by a name that is not its own; use the address that it printed")
    crossed = headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
    if crossed and headers.get("Sec-Fetch-Mode") != "navigate":
        return Refusal(403, "another site asks; only pages of this server may")
    return None


def is_our_host(host: str, bound: str) -> bool:
    """Whether a Host header can only mean us: an address, ``localhost``, or the name that was asked for.

    An address cannot be pointed elsewhere as a name can, so any will do; any port too, for tunnels change it.
    """
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    name = match[1].strip("[]").lower()
    return name in ("localhost", bound.lower()) or _is_address(name)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(bound: str) -> bool:
    """Whether only this machine can reach an address to listen on."""
    return bound == "localhost" or (_is_address(bound) and ipaddress.ip_address(bound).is_loopback)


def parts_of(target: str) -> tuple[str, ...] | None:
    """The parts of an address' path, none for ``/``; None if no file here can be called so."""
    if len(target) > LONGEST or not target.startswith("/"):
        return None
    path = unquote(urlsplit(f"http://host{target}").path, errors="strict") if _is_text(target) else "/."
    parts = path[1:].split("/") if path != "/" else []
    wrong = any(part in ("", "..") or part.startswith(".") or re.search(r"[\x00-\x1f\x7f\\]", part) for part in parts)
    return None if wrong else tuple(parts)


def _is_text(target: str) -> bool:
    try:
        unquote(target, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def headers(*, live: bool = False) -> dict[str, str]:
    """What every answer carries; ``live``: the page may ask this server for what is new."""
    return {
        "Content-Security-Policy": _POLICY.format(connect="'self'" if live else "'none'"),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


_SHOWN: Final = (".json", ".jsonl", ".yaml", ".log", ".txt", ".out", ".md", ".xml", ".events", ".errors", ".edn")


def kind_of(name: str, *, is_page: bool) -> str:
    """The type that a file is sent as: HTML only for pages that chaos wrote, whatever a node calls its files."""
    if is_page:
        return "text/html; charset=utf-8"
    return "text/plain; charset=utf-8" if name.lower().endswith(_SHOWN) else "application/octet-stream"
