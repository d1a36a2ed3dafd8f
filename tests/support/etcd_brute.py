"""Every order of a small report's operations, tried one by one on the made-up etcd: is any of them right?"""

from typing import Any

from support.etcd_report import Etcd, Json

NEVER = 1 << 62


def _fits(answer: Json, right: Json) -> bool:
    return all(answer.get(name) == right.get(name) for name in ("Range", "Txn", "Revision", "ClientError"))


def _allowed(etcd: Etcd, request: Json) -> bool:
    """Whether etcd would answer at all: a read of a revision that is not there yet is refused."""
    return request["Type"] != "range" or request["Range"]["Revision"] <= etcd.revision


def _state(etcd: Etcd) -> Any:
    return etcd.revision, etcd.compacted, tuple(sorted(etcd.keys.items())), frozenset(etcd.revoked)


def linearizable(operations: list[Json]) -> bool:
    """Whether some order that agrees with real time explains all answers; lost ones may have taken place or not."""
    told = [one for one in operations if one["Input"]["Type"] != "defragment"]
    told = [one for one in told if "Error" not in one["Output"] or one["Input"]["Type"] != "range"]
    ends = [NEVER if "Error" in one["Output"] else one["Return"] for one in told]
    seen: set[Any] = set()

    def possible(etcd: Etcd, left: frozenset[int]) -> bool:
        if all(ends[i] == NEVER for i in left):
            return True
        state = (left, _state(etcd))
        if state in seen:
            return False
        seen.add(state)
        first = min(ends[i] for i in left)
        for i in left:
            if told[i]["Call"] > first or not _allowed(etcd, told[i]["Input"]):
                continue
            after = etcd.copy()
            answer = after.apply(told[i]["Input"])
            lost = "Error" in told[i]["Output"]
            if "Error" in answer and not lost:
                continue
            if (lost or _fits(told[i]["Output"], answer)) and possible(after, left - {i}):
                return True
        return False

    return possible(Etcd(), frozenset(range(len(told))))
