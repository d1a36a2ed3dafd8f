"""Report folders of etcd's robustness suite, made up: a small etcd in memory, clients that overlap, and answers lost.

It is written apart from the checker's own key space, so that one may hold the other to account.
"""

import copy
import json
import random
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def content(value: str) -> Json:
    return {"Value": value} if value else {}


def range_options(start: str, end: str = "", limit: int = 0) -> Json:
    return {"Start": start, "End": end, "Limit": limit}


def get(start: str, end: str = "", limit: int = 0, revision: int = 0) -> Json:
    return {"Type": "range", "Range": {**range_options(start, end, limit), "Revision": revision}}


def put_part(key: str, value: str, lease: int = 0) -> Json:
    return {"Type": "put-operation", "Put": {"Key": key, "Value": content(value), "LeaseID": lease}}


def delete_part(key: str) -> Json:
    return {"Type": "delete-operation", "Delete": {"Key": key}}


def range_part(start: str, end: str = "") -> Json:
    return {"Type": "range-operation", "Range": range_options(start, end)}


def txn(success: list[Json], failure: list[Json] | None = None, conditions: list[Json] | None = None) -> Json:
    asked = {"Conditions": conditions, "OperationsOnSuccess": success, "OperationsOnFailure": failure}
    return {"Type": "txn", "Txn": asked}


def put(key: str, value: str, lease: int = 0) -> Json:
    return txn([put_part(key, value, lease)])


def delete(key: str) -> Json:
    return txn([delete_part(key)])


def compact(revision: int) -> Json:
    return {"Type": "compact", "Compact": {"Revision": revision}}


def lease(kind: str, number: int) -> Json:
    name = {"grant": "leaseGrant", "revoke": "leaseRevoke"}[kind]
    return {"Type": name, {"grant": "LeaseGrant", "revoke": "LeaseRevoke"}[kind]: {"LeaseID": number}}


class Etcd:
    """A store with revisions. ``events``: every change, as a watch of all keys is told it."""

    def __init__(self) -> None:
        self.revision = 1
        self.compacted = -1
        self.revoked: set[int] = set()
        self.keys: dict[str, tuple[str, int, int, int]] = {}  # value, revision, version, lease
        self.past: dict[int, dict[str, tuple[str, int, int, int]]] = {1: {}}
        self.events: list[list[Json]] = []

    def copy(self) -> "Etcd":
        """Another one in the same state."""
        other = copy.copy(self)
        other.keys, other.past, other.events = dict(self.keys), dict(self.past), list(self.events)
        other.revoked = set(self.revoked)
        return other

    def apply(self, request: Json) -> Json:  # noqa: PLR0911 - one for each kind of request
        """Do what is asked and answer it."""
        kind = request["Type"]
        if kind == "range":
            asked = request["Range"]
            seen = self.keys if not asked["Revision"] else self.past[asked["Revision"]]
            return {"Range": self._range(seen, asked), "Revision": self.revision}
        if kind == "txn":
            return self._txn(request["Txn"])
        if kind == "leaseRevoke":
            number = request["LeaseRevoke"]["LeaseID"]
            self.revoked.add(number)
            gone = sorted(key for key, held in self.keys.items() if held[3] == number)
            self._change([("delete", key, "", 0) for key in gone])
            return {"LeaseRevoke": {}, "Revision": self.revision}
        if kind == "compact":
            wanted = request["Compact"]["Revision"]
            if wanted <= self.compacted:
                return {"ClientError": "mvcc: required revision has been compacted"}
            if wanted > self.revision:
                return {"ClientError": "mvcc: required revision is a future revision"}
            self.compacted = wanted
            return {"Compact": {}, "Revision": -1}
        return (
            {"LeaseGrant": {}, "Revision": self.revision}
            if kind == "leaseGrant"
            else {"Defragment": {}, "Revision": -1}
        )

    @staticmethod
    def _range(seen: dict[str, tuple[str, int, int, int]], asked: Json) -> Json:
        end = asked.get("End", "")
        keys = sorted(key for key in seen if (asked["Start"] <= key < end if end else key == asked["Start"]))
        told = keys[: asked["Limit"]] if asked.get("Limit") else keys
        return {
            "KVs": [
                {"Key": key, "Value": content(seen[key][0]), "ModRevision": seen[key][1], "Version": seen[key][2]}
                for key in told
            ],
            "Count": len(keys),
        }

    def _txn(self, asked: Json) -> Json:
        failure = False
        for one in asked["Conditions"] or ():
            held = self.keys.get(one["Key"], ("", 0, 0, 0))
            version = one.get("ExpectedVersion", 0)
            failure |= held[2] != version if version else held[1] != one.get("ExpectedRevision", 0)
        parts = asked["OperationsOnFailure" if failure else "OperationsOnSuccess"] or ()
        if any(part["Type"] == "put-operation" and part["Put"]["LeaseID"] in self.revoked for part in parts):
            return {"Error": "etcdserver: requested lease not found"}
        results, changes = [], []
        seen = dict(self.keys)
        for part in parts:
            if part["Type"] == "put-operation":
                own = part["Put"]
                changes.append(("put", own["Key"], own["Value"].get("Value", ""), own["LeaseID"]))
                seen[own["Key"]] = (changes[-1][2], self.revision + 1, seen.get(own["Key"], ("", 0, 0, 0))[2] + 1, 0)
                results.append({"KVs": None, "Count": 0, "Deleted": 0})
            elif part["Type"] == "delete-operation":
                key = part["Delete"]["Key"]
                changes += [("delete", key, "", 0)] if key in seen else []
                results.append({"KVs": None, "Count": 0, "Deleted": int(seen.pop(key, None) is not None)})
            else:
                results.append({**self._range(seen, part["Range"]), "Deleted": 0})
        self._change(changes)
        return {"Txn": {"Failure": failure, "Results": results}, "Revision": self.revision}

    def _change(self, changes: list[tuple[str, str, str, int]]) -> None:
        if not changes:
            return
        self.revision += 1
        told = []
        for kind, key, value, number in changes:
            before = self.keys.get(key)
            event: Json = {"Type": f"{kind}-operation", "Key": key, "Value": content(value), "Revision": self.revision}
            if before is not None:
                event["PrevValue"] = {"Value": content(before[0]), "ModRevision": before[1], "Version": before[2]}
            elif kind == "put":
                event["IsCreate"] = True
            if kind == "put":
                self.keys[key] = (value, self.revision, before[2] + 1 if before else 1, number)
            else:
                del self.keys[key]
            told.append(event)
        self.past[self.revision] = dict(self.keys)
        self.events.append(told)


def done(client: int, request: Json, call: int, ret: int, answer: Json) -> Json:
    """A record of ``operations.json``."""
    return {"ClientId": client, "Input": request, "Call": call, "Output": answer, "Return": ret, "Metadata": answer}


class Report:
    """A report folder in the making. ``clients``: records of operations by client; ``watches``: likewise."""

    def __init__(self) -> None:
        self.clients: dict[int, list[Json]] = {}
        self.watches: dict[int, list[Json]] = {}

    def add(self, client: int, request: Json, call: int, ret: int, answer: Json) -> Json:
        """Record an operation."""
        self.clients.setdefault(client, []).append(done(client, request, call, ret, answer))
        return self.clients[client][-1]

    def watch(self, client: int, messages: list[Json], key: str = "", revision: int = 1, **more: Any) -> Json:
        """Record a watch of all keys that begin with one."""
        request = {"Key": key, "Revision": revision, "WithPrefix": True, "WithPrevKV": True, **more}
        self.watches.setdefault(client, []).append({"Request": request, "Responses": messages})
        return self.watches[client][-1]

    @property
    def operations(self) -> list[Json]:
        """All operations."""
        return [one for own in self.clients.values() for one in own]

    def write(self, folder: Path) -> Path:
        """Write it as the suite does."""
        for name, records in (("operations.json", self.clients), ("watch.json", self.watches)):
            for client, own in records.items():
                home = folder / f"client-{client}"
                home.mkdir(parents=True, exist_ok=True)
                text = "".join(f"{json.dumps(one, indent=2)}\n" for one in own)
                (home / name).write_text(text)
        return folder


KEYS = "abc"


def _request(draw: random.Random, etcd: Etcd, number: int) -> Json:
    """Something a client may ask for; values are unique."""
    key, value = draw.choice(KEYS), str(number)
    held = etcd.keys.get(key, ("", 0, 0, 0))
    at = draw.choice([held[1], 0, max(0, held[1] - 1)])
    condition = {"Key": key, "ExpectedRevision": at}
    if draw.random() < 0.2 and held[2]:
        condition = {"Key": key, "ExpectedVersion": held[2]}
    kinds = {
        "put": lambda: put(key, value, draw.choice([0, 0, 7])),
        "delete": lambda: delete(key),
        "get": lambda: get(key),
        "range": lambda: get("a", "d", draw.choice([0, 2])),
        "past": lambda: get("a", "d", 0, draw.randint(1, etcd.revision)),
        "cas": lambda: txn([put_part(key, value)], [range_part(key)], [condition]),
        "cad": lambda: txn([delete_part(key)], [range_part(key)], [condition]),
        "multi": lambda: txn([put_part("a", value), delete_part("b"), range_part("a", "d")]),
        "revoke": lambda: lease("revoke", draw.choice([7, 8])),
        "compact": lambda: compact(draw.randint(0, etcd.revision + 1)),
        "defragment": lambda: {"Type": "defragment", "Defragment": {}},
    }
    weights = [6, 3, 4, 4, 2, 4, 2, 2, 1, 1, 1]
    return kinds[draw.choices(list(kinds), weights)[0]]()


def made_up(
    seed: int, operations: int = 30, clients: int = 3, lost: float = 0.2, watched: bool = True
) -> tuple[Report, Etcd]:
    """A valid report: operations that overlap and take place between call and return, some of whose answers are lost.

    Args:
        seed: of what is drawn.
        operations: how many.
        clients: how many at a time.
        lost: the share of changes whose clients are not told; half of them do not take place, some later.
        watched: whether a client follows all keys from revision 1 on.
    """
    draw = random.Random(seed)
    etcd, report = Etcd(), Report()
    report.add(1, get("a", "d"), 1, 3, etcd.apply(get("a", "d")))
    report.add(1, lease("grant", 7), 5, 7, etcd.apply(lease("grant", 7)))
    now = 10
    free = dict.fromkeys(range(1, clients + 1), now)
    streams = dict.fromkeys(free, 0)
    late: list[Json] = []
    for number in range(operations):
        now += draw.randint(2, 8)
        if late and draw.random() < 0.3:
            etcd.apply(late.pop())
        client = min(free, key=lambda one: free[one])
        moment = max(now, free[client] + 2)
        now = moment
        call, ret = moment - draw.randint(1, min(moment - free[client] - 1, 9)), moment + draw.randint(1, 9)
        request = _request(draw, etcd, number)
        changes = request["Type"] in ("txn", "leaseRevoke")
        stream = client + 100 * streams[client]
        if draw.random() < lost and changes:
            report.clients.setdefault(client, []).append(
                done(stream, request, call, ret, {"Error": "etcdserver: timeout"})
            )
            streams[client] += 1
            fate = draw.random()
            if fate < 0.4:
                etcd.apply(request)
            elif fate < 0.6:
                late.append(request)
        else:
            answer = etcd.apply(request)
            streams[client] += "Error" in answer
            report.clients.setdefault(client, []).append(done(stream, request, call, ret, answer))
        free[client] = ret
    if watched:
        messages = [{"Events": told, "Revision": told[0]["Revision"], "Time": 1} for told in etcd.events]
        report.watch(clients + 1, [*messages, {"IsProgressNotify": True, "Revision": etcd.revision, "Time": 2}])
    return report, etcd
