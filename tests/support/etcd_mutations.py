"""Changes of a made-up report: of an answer, its revision, what it returned, or when an operation was."""

import random

from support.etcd_report import Json, Report, content


def _answered(report: Report) -> list[Json]:
    return [one for one in report.operations if one["Output"].get("Revision", -1) > 0]


def _ranges(report: Report) -> list[Json]:
    found = [one["Output"]["Range"] for one in _answered(report) if "Range" in one["Output"]]
    for one in _answered(report):
        found += [result for result in (one["Output"].get("Txn") or {}).get("Results", []) if result["KVs"] is not None]
    return found


def revision_moved(report: Report, draw: random.Random) -> str:
    """An answer names another revision."""
    one = draw.choice(_answered(report))
    one["Output"]["Revision"] = max(1, one["Output"]["Revision"] + draw.choice([-2, -1, 1, 2]))
    return "revision"


def value_changed(report: Report, draw: random.Random) -> str:
    """A read returns another value."""
    held = [one for result in _ranges(report) for one in result["KVs"]]
    if not held:
        return revision_moved(report, draw)
    draw.choice(held)["Value"] = content(str(draw.randint(0, 9)))
    return "value"


def key_left_out(report: Report, draw: random.Random) -> str:
    """A read leaves a key out."""
    full = [one for one in _ranges(report) if one["KVs"]]
    if not full:
        return revision_moved(report, draw)
    one = draw.choice(full)
    one["KVs"].pop(draw.randrange(len(one["KVs"])))
    one["Count"] -= 1
    return "key"


def branch_changed(report: Report, draw: random.Random) -> str:
    """A transaction takes the other branch by its answer, or a delete counts otherwise."""
    txns = [one["Output"]["Txn"] for one in _answered(report) if "Txn" in one["Output"]]
    if not txns:
        return revision_moved(report, draw)
    one = draw.choice(txns)
    if one["Results"] and draw.random() < 0.5:
        one["Results"][0]["Deleted"] ^= 1
    else:
        one["Failure"] = not one["Failure"]
    return "branch"


def time_moved(report: Report, draw: random.Random) -> str:
    """An operation was later, or earlier, than it was."""
    one = draw.choice(report.operations)
    by = draw.choice([-40, -20, 20, 40])
    one["Call"], one["Return"] = max(1, one["Call"] + by), max(2, one["Return"] + by)
    return "time"


def outcome_lost(report: Report, draw: random.Random) -> str:
    """A client was not told; that alone breaks nothing."""
    one = draw.choice(_answered(report))
    one["Output"] = {"Error": "context deadline exceeded"}
    return "outcome"


def write_forgotten(report: Report, draw: random.Random) -> str:
    """An operation was never asked for."""
    own = draw.choice([one for one in report.clients.values() if one])
    own.pop(draw.randrange(len(own)))
    return "write"


MUTATIONS = (revision_moved, value_changed, key_left_out, branch_changed, time_moved, outcome_lost, write_forgotten)


def mutated(report: Report, draw: random.Random) -> str:
    """Change something; what."""
    return draw.choice(MUTATIONS)(report, draw)
