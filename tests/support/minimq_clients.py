"""Clients and an observer of the simulated cluster: they keep every answer, and look at no core."""

from collections import defaultdict

from leading import leads, subjects_of
from minimq_oracle import DEADLINE_MS, Told
from minimq_sim import BROKERS, CONTROLLERS, NODES, Simulation

from chaos.basics.rand import run_hash
from chaos.models.log import payload
from chaos.models.log.words import Value
from cluster.systems.minimq.config import ROLES, topology
from cluster.systems.minimq.protocol.broker_messages import (
    Commit,
    CommitDone,
    Committed,
    FetchCommitted,
    GetReplica,
    Poll,
    Polled,
    Produce,
    Produced,
    Read,
    Rejected,
)
from cluster.systems.minimq.protocol.groups import ONE
from cluster.systems.minimq.protocol.io import ClientRequest
from cluster.systems.minimq.protocol.messages import Accepted, CreateTopic, GetMetadata, GetStatus
from nemesis.plan.choose_targets import choose
from nemesis.plan.plan import make_plan
from nemesis.targets.topology import Topology

TOPIC = "chaos"
QUEUES = 2
RUN = run_hash("simulated")
CLIENTS = 8
PINNED = 3
ATTEMPT_MS = 700
OBSERVE_MS = 250
ROUTE_MS = 300
WAIT_MS = 500
HOLD_MS = 4000


def body_of(queue, client, sequence):
    return payload.encode(Value(client, sequence), queue, RUN)


def value_of(queue, body):
    """(queue, client, sequence), or None for what is damaged or not of this queue."""
    value = payload.decode(body, queue, RUN)
    return value and (queue, *value)


class Cluster(Simulation):
    """The simulated cluster under load and faults."""

    def __init__(self, seed, *, workload="queue", rate=60, **more):
        super().__init__(seed, **more)
        self.told = Told()
        self.workload, self.rate = workload, rate
        self.sequences = defaultdict(int)
        self.cursors = defaultdict(int)
        self.ends = defaultdict(int)
        self.route = (None, ())
        self.loading = False
        self.latest = {}
        self.producers = {}
        self.members = {}

    # ------------------------------------------------------------ asking

    def ask(self, name, body, done, deadline_ms=DEADLINE_MS):
        """``done`` gets the answer, or None: a refused connection is a definite ``Rejected``."""
        machine = self.machines[name]
        if machine.core is None:
            self.at(1, done, Rejected(reason="not-master"))
            return
        request_id = str(next(self.asked))
        self.replies[request_id] = done
        if name not in self.unplugged:
            self.at(self.latency_ms(), self.tell, name, machine.life, ClientRequest(id=request_id, body=body))
        self.at(deadline_ms, self.give_up, request_id)

    def give_up(self, request_id):
        done = self.replies.pop(request_id, None)
        if done is not None:
            done(None)

    def up(self, limit_ms=15_000):
        """Wait for the topic and a full SyncStateSet."""
        end_ms = self.now_ms + limit_ms
        self.observe()
        while self.now_ms < end_ms:
            for name in CONTROLLERS:
                self.ask(name, CreateTopic(topic=TOPIC, queues=QUEUES), lambda _: None)
            self.run(100)
            if len(self.in_sync()) == len(BROKERS) and self.route[0]:
                return self
        raise AssertionError("the cluster did not come up")

    def leadership(self):
        """Of the newest term, as the observer knows it."""
        leaders = {status.term: (name, status) for name, status in self.latest.items() if name in CONTROLLERS}
        if not leaders:
            return leads()
        name, status = leaders[max(leaders)]
        group = status.metadata[ONE].group
        return leads(group.master, name, members=group.sync_state_set)

    def in_sync(self):
        """Who is in sync, as the observer knows it."""
        return self.leadership()[ONE].members

    def observe(self):
        for name in NODES:
            body = GetStatus() if name in CONTROLLERS else GetReplica()
            self.ask(name, body, lambda said, name=name: self.observed(name, said), OBSERVE_MS)
        for name in CONTROLLERS:
            self.ask(name, GetMetadata(), self.routed, ROUTE_MS)
        self.at(OBSERVE_MS, self.observe)

    def observed(self, name, said):
        self.latest.pop(name, None)
        if said is None or isinstance(said, Rejected) or said.role not in ("leader", "master"):
            return
        self.latest[name] = said
        if name in CONTROLLERS:
            self.told.claims["leader", said.term].add(name)
        else:
            self.told.claims["master", said.epoch].add(name)
            self.told.sets.append((self.now_ms, name, said.epoch, said.sss_epoch, len(said.sync_state_set)))

    def routed(self, answer):
        if isinstance(answer, Accepted):
            group = answer.metadata.group
            self.route = (group.master, tuple(each.broker for each in group.brokers if each.broker != group.master))

    # ------------------------------------------------------------ the load

    def load(self, plan_args, *, until=lambda: False):
        """Load under the plan's faults until its end, or until ``until``."""
        self.loading = True
        rows = make_plan(plan_args.pop("nemesis"), ROLES, topology(), subjects=subjects_of(topology()), **plan_args)
        places = Topology.of(topology(), ROLES, subjects_of(topology()))
        for row in rows:
            self.at(
                int(row.at_s * 1000), self.fault, row, places, self.now_ms + int((row.at_s + row.duration_s) * 1000)
            )
        self.arrival()
        self.run(int(plan_args["time_limit_s"] * 1000), until)
        self.loading = False
        self.told.load_end_ms = self.now_ms

    def fault(self, row, places, end_ms):
        targets = choose(row, places, self.leadership())
        if targets is not None:
            self.inject(row, targets)
            self.at(end_ms - self.now_ms, self.heal, row.fault, targets)
            self.told.healed_ms = max(end_ms, self.told.healed_ms or 0)
        elif self.now_ms + 500 < end_ms:
            self.at(100, self.fault, row, places, end_ms)

    def arrival(self):
        if not self.loading:
            return
        client, queue = self.random.randrange(CLIENTS), self.random.randrange(QUEUES)
        draw = self.random.random()
        if self.workload == "group" and draw < 0.35:
            self.step(queue)
        elif draw < 0.6:
            self.send_value(client, queue)
        elif draw < 0.8:
            self.read(client, queue, strong=False)
        elif draw < 0.9:
            self.read(client, queue, strong=True)
        else:
            self.read(client, queue, strong=False, slave=True)
        self.at(self.random.randint(1, max(1, 1200 // self.rate)), self.arrival)

    def broker_of(self, client):
        return BROKERS[client] if client < PINNED else self.route[0]

    def send_value(self, client, queue):
        name = self.broker_of(client)
        if name is None or self.producers.get((client, queue), {}).get("busy"):
            return
        value = (queue, client, self.sequences[client])
        self.sequences[client] += 1
        self.told.sent[value] = "info"
        if self.workload == "idempotent":
            producer = self.producers.setdefault((client, queue), {"name": 0, "sequence": 0})
            producer["busy"] = True
            self.attempt(client, value, self.now_ms, self.now_ms + DEADLINE_MS)
            return
        invoked = self.now_ms
        request = Produce(topic=TOPIC, queue=queue, body=body_of(*value))
        self.ask(name, request, lambda answer: self.produced(name, value, invoked, answer))

    def attempt(self, client, value, invoked, deadline_ms):
        """An idempotent message once more, under the same number."""
        producer = self.producers[client, value[0]]
        name = self.broker_of(client)

        def done(answer):
            if isinstance(answer, Produced):
                self.produced(name, value, invoked, answer)
                producer.update(busy=False, sequence=producer["sequence"] + 1)
            elif self.now_ms < deadline_ms:
                self.at(100, self.attempt, client, value, invoked, deadline_ms)
            else:
                producer.update(busy=False, name=producer["name"] + 1, sequence=0)

        if name is None:
            done(None)
            return
        request = Produce(
            topic=TOPIC,
            queue=value[0],
            body=body_of(*value),
            producer=f"{client}.{producer['name']}",
            sequence=producer["sequence"],
        )
        self.ask(name, request, done, ATTEMPT_MS)

    def produced(self, name, value, invoked, answer):
        if isinstance(answer, Produced):
            self.told.sent[value] = "ok"
            self.told.acks.append((value[0], answer.offset, value, invoked, self.now_ms, name))
            self.told.told(value[0], answer.offset, value)
            self.ends[value[0]] = max(self.ends[value[0]], answer.offset + 1)
        elif isinstance(answer, Rejected):
            self.told.sent[value] = "fail"

    def read(self, client, queue, *, strong, slave=False):
        name = self.broker_of(client)
        asked = max(0, self.ends[queue] - 32) if strong or slave else self.cursors[client, queue]
        if slave:
            name = self.random.choice(self.route[1]) if self.route[1] else None
        if name is None:
            return
        kind = Read if strong else Poll
        invoked = self.now_ms

        def done(answer):
            if isinstance(answer, Polled):
                after = self.have_read(queue, asked, answer, strong, invoked)
                if not strong and not slave:
                    self.cursors[client, queue] = after

        self.ask(name, kind(topic=TOPIC, queue=queue, offset=asked, records_max=1000), done)

    def have_read(self, queue, asked, answer, strong, invoked):
        records = []
        for record in answer.records:
            value = value_of(queue, record.body)
            if value is None:
                self.told.corrupt += 1
                continue
            records.append((record.offset, value))
            self.told.told(queue, record.offset, value)
        after = max([asked - 1, *(record.offset for record in answer.records)]) + 1
        self.told.reads.append((queue, asked, after, tuple(records), strong, invoked, self.now_ms))
        return after

    def step(self, queue):
        """What the queue's member does next: ask where the group goes on, poll, commit."""
        slot = self.now_ms // HOLD_MS
        member = self.members.get(queue)
        if member is None or member["slot"] != slot:
            member = self.members[queue] = {
                "slot": slot,
                "cursor": None,
                "polled": 0,
                "busy": False,
                "client": slot % CLIENTS,
            }
        name = self.broker_of(member["client"])
        if name is None or member["busy"]:
            return
        member["busy"], invoked = True, self.now_ms

        def done(answer):
            member["busy"] = False
            match answer:
                case Committed(offset=offset):
                    self.told.committed_reads.append((queue, offset, invoked))
                    member["cursor"] = offset or 0
                case Polled():
                    after = self.have_read(queue, member["cursor"], answer, False, invoked)
                    member["polled"] += after > member["cursor"]
                    member["cursor"] = after
                case CommitDone():
                    self.told.commits.append((queue, member["cursor"], invoked, self.now_ms))
                    member["polled"] = 0
                case _:
                    pass

        if member["cursor"] is None:
            self.ask(name, FetchCommitted(group="g", topic=TOPIC, queue=queue), done)
        elif member["polled"] >= 2:
            self.told.tried_commits.append((queue, member["cursor"], invoked))
            self.ask(name, Commit(group="g", topic=TOPIC, queue=queue, offset=member["cursor"]), done)
        else:
            poll = Poll(topic=TOPIC, queue=queue, offset=member["cursor"], records_max=1000, wait_ms=WAIT_MS)
            self.ask(name, poll, done)

    # ------------------------------------------------------------ the end

    def drain(self, limit_ms=20_000):
        """Read everything at the only master, once all has settled."""
        self.run(DEADLINE_MS + 6000)
        end_ms = self.now_ms + limit_ms
        drained = {}
        while len(drained) < QUEUES and self.now_ms < end_ms:
            for queue in range(QUEUES):
                self.drain_queue(queue, 0, [], drained)
            self.run(DEADLINE_MS)
        self.told.drained = drained if len(drained) == QUEUES else None
        self.told.in_sync = self.in_sync()
        return self.told

    def drain_queue(self, queue, asked, seen, drained):
        def done(answer):
            if not isinstance(answer, Polled):
                return
            after = self.have_read(queue, asked, answer, False, self.now_ms)
            seen.extend(value_of(queue, record.body) for record in answer.records)
            if after >= answer.end or not answer.records:
                drained[queue] = set(seen)
            else:
                self.drain_queue(queue, after, seen, drained)

        if self.route[0] is not None:
            self.ask(self.route[0], Read(topic=TOPIC, queue=queue, offset=asked, records_max=1000), done)
