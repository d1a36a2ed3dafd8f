"""Packet filters on hosts: drop what comes from some addresses, or hand it to a program, in a chain of our own.

One chain per run, ``CHAOS-<id>``, jumped to from INPUT and from OUTPUT, so that rules of others are never touched and
ours are found by name. Cuts and loss are INPUT rules at both ends of a link, once per direction (SEMANTICS 23).
``program`` is pure; the rest runs it on a host in one go. Does not choose whom to cut off, and proves nothing:
``cluster.network.probe_matrix`` does.
"""

import hashlib
import itertools
import re
import secrets
import weakref
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from chaos.core.errors import CapabilityError, UsageError
from cluster.host import Capability, ControlLink, Host

_TIMEOUT_S: Final = 15.0
_PREFIX: Final = "CHAOS-"
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9-]{1,20}")
_SHARE_DIGITS: Final = 8
"""The kernel keeps a probability in 31 bits, so 0.8 comes back as 0.79999999981."""

_MATCH: Final = {"INPUT": "-s", "OUTPUT": "-d"}
_RESET: Final = "tcp-reset"
_SHARE_WORDS: Final = 6
"""``-m statistic --mode random --probability 0.5``."""

VARIANT: Final = """\
for variant in iptables iptables-nft iptables-legacy; do
  if "$variant" -w 5 -S INPUT >/dev/null 2>&1; then echo "$variant"; exit; fi
done
"""
STATISTIC: Final = """\
"$1" -w 5 -N "$2" || exit
"$1" -w 5 -A "$2" -m statistic --mode random --probability 0.5 -j DROP; result=$?
"$1" -w 5 -F "$2"; "$1" -w 5 -X "$2"; exit $result
"""
# $1 iptables, $2 a chain of its own, then a rule
_TRY: Final = """\
variant=$1 name=$2; shift 2
"$variant" -w 5 -N "$name" || exit
"$variant" -w 5 -A "$name" "$@"; result=$?
"$variant" -w 5 -F "$name"; "$variant" -w 5 -X "$name"; exit $result
"""
# The chain is filled in one transaction, and before anything jumps to it: all rules act at once.
APPLY: Final = """\
"$1-restore" -w 5 --noflush || exit
for hook in INPUT OUTPUT; do
  "$1" -w 5 -C "$hook" -j "$2" 2>/dev/null || "$1" -w 5 -I "$hook" -j "$2" || exit
done
"""
CLEAR: Final = """\
"$1" -w 5 -S "$2" >/dev/null 2>&1 || exit 0
for hook in INPUT OUTPUT; do
  jumps=$("$1" -w 5 -S "$hook" | grep -c -e "-j $2\\$")
  while [ "$jumps" -gt 0 ]; do "$1" -w 5 -D "$hook" -j "$2" || exit; jumps=$((jumps - 1)); done
done
"$1" -w 5 -F "$2" && "$1" -w 5 -X "$2"
"""
"""Removes a chain and the jumps to it; its arguments are the iptables to use and the chain."""

_variants: "weakref.WeakKeyDictionary[Host, str]" = weakref.WeakKeyDictionary()


class Rule(msgspec.Struct, frozen=True):
    """Drop packets of one peer, refuse them, or hand them to a program.

    ``address``: for INPUT where they come from, for OUTPUT where they go to. ``probability``: the share that
    is dropped, each packet by itself, or None for all. ``queue``: the number of the NFQUEUE that a program of ours
    listens to, instead of dropping; while nobody listens they pass, and what it gives back passes later rules unseen.
    ``match``: which packets of that peer, in the words in which ``iptables -S`` lists them (``-p tcp -m tcp --dport
    22``); empty for all. ``reset``: answer them by a TCP reset; ``match`` then names TCP.
    """

    address: str
    direction: Literal["INPUT", "OUTPUT"] = "INPUT"
    probability: float | None = None
    queue: int | None = None
    match: str = ""
    reset: bool = False

    def then(self) -> str:
        """What becomes of its packets, in iptables' words."""
        if self.queue is not None:
            return f"NFQUEUE --queue-num {self.queue} --queue-bypass"
        return f"REJECT --reject-with {_RESET}" if self.reset else "DROP"


class Counter(msgspec.Struct, frozen=True):
    """What a rule has dropped, or handed over, so far."""

    rule: Rule
    packets: int
    bytes: int


class Held(msgspec.Struct, frozen=True):
    """What the packet filter of a host holds of a run.

    ``counters``: its rules. ``astray``: for each hook (INPUT, OUTPUT) from which packets do not get to the rules, why.
    """

    counters: tuple[Counter, ...] = ()
    astray: dict[str, str] = {}


def chain(run_id: str) -> str:
    """Pure: the name of a run's chain, within the kernel's 28 characters."""
    if _PLAIN_ID.fullmatch(run_id):
        return _PREFIX + run_id
    return _PREFIX + hashlib.blake2b(run_id.encode(), digest_size=8).hexdigest()


def program(name: str, rules: Sequence[Rule], control: ControlLink | None = None) -> str:
    """Pure: the input of ``iptables-restore --noflush`` that makes chain ``name`` hold exactly ``rules``.

    Hosts forward nothing and no two share an address, so a source or destination also tells the hook.
    What passes over ``control`` leaves the chain before any rule: whom a fault hits must stay in reach.
    """
    lines = ["*filter", f":{name} - [0:0]"]
    if control is not None:
        lines.append(f"-A {name} -s {control.address}/32 -p tcp --dport {control.port} -j RETURN")
        lines.append(f"-A {name} -d {control.address}/32 -p tcp --sport {control.port} -j RETURN")
    for rule in rules:
        if rule.probability is not None and not 0.0 < rule.probability <= 1.0:
            raise UsageError(f"probability {rule.probability:g} of a rule: give a share above 0 and up to 1")
        some = "" if rule.probability is None else f" -m statistic --mode random --probability {rule.probability:.10f}"
        which = f" {rule.match}" if rule.match else ""
        lines.append(f"-A {name} {_MATCH[rule.direction]} {rule.address}/32{which}{some} -j {rule.then()}")
    return "\n".join([*lines, "COMMIT", ""])


def parse_listing(listing: str, name: str) -> Held:
    """Pure: what chain ``name`` holds, out of what ``iptables -v -S`` prints of a whole filter."""
    lines = [words for line in listing.splitlines() if (words := line.split())[:1] == ["-A"]]
    ways = {hook: _way([words for words in lines if words[1] == hook], hook, name) for hook in _MATCH}
    astray = {hook: why for hook, why in ways.items() if why}
    return Held(_counters(words for words in lines if words[1] == name), astray)


def _way(lines: Sequence[Sequence[str]], hook: str, name: str) -> str:
    """Why packets do not get from a hook to the rules of a chain; empty if all of them do.

    Looks for rules of the hook itself that accept what comes from other hosts. What chains of others accept is not
    known.
    """
    for words in lines:
        after = dict(itertools.pairwise(words))
        if after.get("-j") == name and len(words) == len(("-A", hook, "-c", "1", "60", "-j", name)):
            return ""
        if after.get("-j") in ("ACCEPT", "RETURN") and "lo" not in (after.get("-i"), after.get("-o")):
            return f"a rule in {hook} accepts packets before them"
    return f"nothing in {hook} leads to them"


def _counters(lines: Iterable[Sequence[str]]) -> tuple[Counter, ...]:
    found = []
    for words in lines:
        if "-c" not in words or not {"DROP", "NFQUEUE", "REJECT"} & set(words):
            continue
        after = dict(itertools.pairwise(words))
        direction: Literal["INPUT", "OUTPUT"] = "INPUT" if "-s" in after else "OUTPUT"
        share = round(float(after["--probability"]), _SHARE_DIGITS) if "--probability" in after else None
        queue = int(after["--queue-num"]) if "--queue-num" in after else None
        counts = words.index("-c")
        rule = Rule(
            address=after[_MATCH[direction]].removesuffix("/32"),
            direction=direction,
            probability=share,
            queue=queue,
            match=_which(words[2:counts]),
            reset=after.get("--reject-with") == _RESET,
        )
        found.append(Counter(rule, int(words[counts + 1]), int(words[counts + 2])))
    return tuple(found)


def _which(words: Sequence[str]) -> str:
    """What is left of a listed rule's conditions without its address and its share."""
    rest = list(words)
    if "statistic" in rest:
        at = rest.index("statistic") - 1
        del rest[at : at + _SHARE_WORDS]
    at = next(place for place, word in enumerate(rest) if word in _MATCH.values())
    del rest[at : at + 2]
    return " ".join(rest)


def variant(host: Host) -> str:
    """The iptables of this host that its kernel understands, probed once: a chain must never be in two of them.

    Raises:
        CapabilityError: there is none.
    """
    known = _variants.get(host)
    if known is None:
        known = host.run("sh", "-c", VARIANT, timeout_s=_TIMEOUT_S).text
        if not known:
            raise CapabilityError(f"{host.name}: no iptables that works; `apt-get install iptables`")
        _variants[host] = known
    return known


def capabilities(host: Host) -> frozenset[Capability]:
    """What the packet filter of this host can do, found by doing it."""
    try:
        name = variant(host)
    except CapabilityError:
        return frozenset()
    probe = host.run("sh", "-c", STATISTIC, "sh", name, f"{_PREFIX}probe", timeout_s=_TIMEOUT_S)
    return frozenset({Capability.IPTABLES} | ({Capability.STATISTIC} if probe.returncode == 0 else set()))


def why_refused(host: Host, rule: Rule) -> str | None:
    """Why this host's packet filter takes no such rule, whoever the peer; None if it does, found by doing it."""
    like_it = f"{rule.match} -j {rule.then()}".split()
    words = (variant(host), f"{_PREFIX}try-{secrets.randbits(40):010x}", *like_it)
    done = host.run("sh", "-c", _TRY, "sh", *words, timeout_s=_TIMEOUT_S)
    return None if done.returncode == 0 else " ".join(done.stderr.decode(errors="replace").split())[:200] or "refused"


def apply(host: Host, run_id: str, rules: Sequence[Rule]) -> None:
    """Make the run's chain on this host hold exactly ``rules``; repeating it changes nothing.

    Raises:
        DeployError: the packet filter refused, with what it said.
    """
    name = chain(run_id)
    text = program(name, rules, host.control).encode()
    done = host.run("sh", "-c", APPLY, "sh", variant(host), name, stdin=text, timeout_s=_TIMEOUT_S)
    done.check(f"{host.name}: packet filter rules of {name}")


def clear(host: Host, run_id: str) -> None:
    """Remove the run's chain and the jumps to it, and nothing else; fine if there is none.

    Raises:
        DeployError: the packet filter refused, with what it said.
    """
    done = host.run("sh", "-c", CLEAR, "sh", variant(host), chain(run_id), timeout_s=_TIMEOUT_S)
    done.check(f"{host.name}: removing packet filter chain {chain(run_id)}")


def read_held(host: Host, run_id: str) -> Held:
    """What the packet filter of this host holds of the run, seen all at once.

    Raises:
        DeployError: the packet filter refused, with what it said.
    """
    done = host.run(variant(host), "-w", "5", "-v", "-S", timeout_s=_TIMEOUT_S)
    return parse_listing(done.check(f"{host.name}: listing packet filters").text, chain(run_id))


def counters(host: Host, run_id: str) -> tuple[Counter, ...]:
    """What each rule of the run has dropped on this host; empty without a chain."""
    return read_held(host, run_id).counters


def own_lines(host: Host) -> tuple[str, ...]:
    """Every line of the packet filter that names a chain of ours, of whichever run: empty after a heal."""
    done = host.run(variant(host), "-w", "5", "-S", timeout_s=_TIMEOUT_S).check(f"{host.name}: listing packet filters")
    return tuple(line for line in done.text.splitlines() if _PREFIX in line)
