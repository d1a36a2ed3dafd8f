"""Raft's safety under any schedule, its liveness once all is healed, and that a bent rule is found."""

from itertools import cycle, permutations

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from raft_world import APPENDS, Violation, World

from cluster.systems.minimq.consensus import raft_rules
from cluster.systems.minimq.protocol.messages import HardState

BUDGET = settings(max_examples=60, stateful_step_count=40)
# A bent rule is looked for with the same draws at every run, and its example is not made smaller.
SEARCH = settings(BUDGET, max_examples=400, derandomize=True, database=None, phases=[Phase.generate])
ANY = st.integers(min_value=0, max_value=1 << 16)

TERM = st.tuples(  # see ``rivalry``
    st.integers(0, 2), st.sampled_from([0, 0, 0, 0, 1, 3, 4, 5, 6, 8]), st.none() | ANY
)


class RaftMachine(RuleBasedStateMachine):
    @initialize(count=st.sampled_from([3, 3, 3, 4, 5]), seed=ANY)
    def begin(self, count, seed):
        self.world = World(count, seed)

    def name(self, number):
        return self.world.names[number % len(self.world.names)]

    @rule(delay_ms=st.integers(min_value=0, max_value=2000), node=ANY)
    def elapse(self, delay_ms, node):
        self.world.elapse(delay_ms)
        self.world.fire(self.name(node))  # ahead of the others: nobody's clock is trusted

    @precondition(lambda self: self.world.in_flight)
    @rule(position=ANY, what=st.sampled_from(["deliver", "lose", "repeat"]))
    def one_message(self, position, what):
        in_flight = self.world.in_flight
        position %= len(in_flight)
        if what == "deliver":
            self.world.deliver(position)
        elif what == "lose":
            in_flight.pop(position)
        else:
            in_flight.append(in_flight[position])

    @precondition(lambda self: self.world.in_flight)
    @rule(count=st.integers(min_value=2, max_value=30), in_order=st.booleans())
    def many_messages(self, count, in_order):
        for _ in range(min(count, len(self.world.in_flight))):
            self.world.deliver(0 if in_order else self.world.random.randrange(1 << 16))

    @rule(side=ANY, one_way=st.booleans())
    def partition(self, side, one_way):
        names = self.world.names
        inside = {name for bit, name in enumerate(names) if side >> bit & 1}
        self.world.cut = {(a, b) for a in names for b in names if a in inside and b not in inside}
        if not one_way:
            self.world.cut |= {(b, a) for a, b in self.world.cut}

    @rule(node=ANY, what=st.sampled_from(["slow disk", "quick disk", "crash", "restart"]), kept=st.integers(0, 3))
    def machine(self, node, what, kept):
        name = self.name(node)
        if what == "crash":
            self.world.crash(name, kept)
        elif what == "restart":
            self.world.crash(name, kept)
            self.world.restart(name)
        else:
            self.world.nodes[name].slow_disk = what == "slow disk"
            self.world.flush(name)

    @rule(rivals=ANY, terms=st.lists(TERM, min_size=2, max_size=8))
    def rivalry(self, rivals, terms):
        """Two nodes lead in turn by votes of the same others and get little done, as in the paper's figure 8."""
        pairs = list(permutations(self.world.names, 2))
        pair = pairs[rivals % len(pairs)]
        self.world.cut.clear()
        for name, (proposals, appends, crashed) in zip(cycle(pair), terms, strict=False):
            self.world.campaign(name, pair)
            self.world.read()
            for _ in range(proposals):
                self.world.propose(name)
            self.world.deliver_between(self.world.electors(name, pair), APPENDS, appends)
            self.world.read()
            if crashed is not None:
                self.world.crash(self.name(crashed), 0)
                self.world.restart(self.name(crashed))

    @rule(ticks=st.integers(min_value=1, max_value=60))
    def calm(self, ticks):
        self.world.cut.clear()
        for name in self.world.names:
            self.world.propose(name)
        for _ in range(ticks):
            self.world.tick()
        self.world.read()

    def teardown(self):
        if hasattr(self, "world"):
            self.world.settle()


class TestRaft(RaftMachine.TestCase):
    settings = BUDGET


def forget_vote(term, voted_for):
    return HardState(term=term, voted_for=None)


def commit_old_term(matched, term, commit, term_at):
    return max(commit, sorted(matched, reverse=True)[raft_rules.quorum_of(len(matched)) - 1])


def vote_for_any_log(candidate, own):
    return True


@pytest.mark.parametrize(
    ("rule_name", "bent", "property_broken"),
    [
        ("hard_state", forget_vote, "election safety"),
        ("committed_by", commit_old_term, "leader completeness|state machine safety"),
        ("is_up_to_date", vote_for_any_log, "leader completeness|state machine safety"),
    ],
)
def test_a_bent_rule_is_found(monkeypatch, rule_name, bent, property_broken):
    monkeypatch.setattr(raft_rules, rule_name, bent)
    with pytest.raises(Violation, match=property_broken):
        run_state_machine_as_test(RaftMachine, settings=SEARCH)
