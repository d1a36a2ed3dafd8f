"""Parameters of faults: as they are typed, as they stand in plans and events, and what is said of wrong ones."""

import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from leading import subjects_of
from msgspec import Meta
from repository import ROOT

from chaos import plugins
from chaos.core.errors import HistoryError, UsageError
from chaos.options.config_file import load
from cluster.host import NodeSpec
from nemesis.faults import faults_page, params, registry
from nemesis.faults.fault import Fault
from nemesis.faults.links.packet_loss import LossParams
from nemesis.faults.registry import faults, faults_on
from nemesis.plan.choose_targets import choose
from nemesis.plan.nemesis_names import parse, words
from nemesis.plan.plan import make_plan
from nemesis.plan.plan_file import read_plan, write_plan
from nemesis.targets.topology import Topology

KINDS = {"controller": "controller", "broker": "replica"}
SPECS = [NodeSpec(name=f"{role[0]}{i}", role=role) for role in KINDS for i in (1, 2, 3)]
SUBJECTS = subjects_of(SPECS)
TOPOLOGY = Topology.of(SPECS, KINDS, SUBJECTS)


def rows(nemesis):
    times = {"interval_s": 10, "duration_s": 10, "time_limit_s": 100}
    return make_plan(nemesis, KINDS, SPECS, **times, seed=3, subjects=SUBJECTS)


class Waves(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters with each kind of bound."""

    high_ms: Annotated[int, Meta(ge=1, le=1000, description="how high", extra={"unit": "ms"})] = 10
    low_ms: Annotated[int, Meta(ge=0, extra={"unit": "ms"})] = 0
    steep: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    free: float = 1.0
    shore: Annotated[Literal["sand", "rock"], Meta(description="where they break")] = "sand"
    colours: tuple[Literal["white", "green", "blue"], ...] = ("green", "blue")
    boats: Annotated[int, Meta(ge=1)] | Literal["all"] = "all"

    def __post_init__(self):
        if self.low_ms > self.high_ms:
            raise ValueError(f"low_ms {self.low_ms}: give at most high_ms, {self.high_ms}")


def test_parameters_say_what_they_may_be():
    assert [(one.name, one.default, one.range, one.help) for one in params.params_of(Waves)] == [
        ("high_ms", 10, "a whole number of ms from 1 and up to 1000", "how high"),
        ("low_ms", 0, "a whole number of ms from 0", ""),
        ("steep", 0.5, "a number above 0 and below 1", ""),
        ("free", 1.0, "a number", ""),
        ("shore", "sand", "sand or rock", "where they break"),
        ("colours", ("green", "blue"), "white, green or blue, or several joined by +", ""),
        ("boats", "all", "a whole number from 1, or all", ""),
    ]
    assert [one.typed_default for one in params.params_of(Waves)] == [
        *("10", "0", "0.5", "1", "sand", "green+blue", "all")
    ]


def test_of_many_words_only_some_are_shown():
    many = tuple(f"w{number}" for number in range(21))
    assert params.words_range(many, several=False) == "w0, w1, w2, w3, w4, w5 or 15 others"
    assert params.words_range(many[:20], several=False).endswith(", w18 or w19")
    assert params.words_range(("alone",), several=False) == "alone"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"high_ms": "0"}, "high_ms 0: give a whole number of ms from 1 and up to 1000"),
        ({"high_ms": "1001"}, "high_ms 1001: give"),
        ({"high_ms": "1.5"}, "high_ms 1.5: give a whole number"),
        ({"steep": "0"}, "steep 0: give a number above 0 and below 1"),
        ({"steep": 1.0}, "steep 1.0: give"),
        ({"steep": "nan"}, "steep nan: give"),
        ({"free": "inf"}, "free inf: give a number"),
        ({"free": "much"}, "free much: give a number"),
        ({"free": True}, "free True: give a number"),
        ({"hihg_ms": "1"}, "no parameter 'hihg_ms'; did you mean high_ms?"),
        ({"shore": "snad"}, "shore snad: give sand or rock; did you mean sand?"),
        ({"shore": "ROCK"}, "shore ROCK: give sand or rock; did you mean rock?"),
        ({"shore": "1"}, "shore 1: give sand or rock"),
        ({"shore": "sand+rock"}, "shore sand+rock: give sand or rock"),
        ({"colours": "white+geen"}, "give white, green or blue, or several joined by +; did you mean green?"),
        ({"colours": "white+"}, "colours white+: give white, green or blue"),
        ({"colours": "blue+white+blue"}, "colours blue+white+blue: blue is given twice"),
        ({"boats": "0"}, "boats 0: give a whole number from 1, or all"),
        ({"boats": "al"}, "boats al: give a whole number from 1, or all; did you mean all?"),
        ({"low_ms": "20"}, "low_ms 20: give at most high_ms, 10"),
    ],
)
def test_a_wrong_parameter_is_one_line_with_what_is_allowed(given, said):
    with pytest.raises(UsageError) as error:
        params.read(Waves, given)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_the_edges_of_the_bounds_are_allowed():
    assert params.read(Waves, {"high_ms": "1000", "low_ms": "0", "steep": "0.999"}) == Waves(high_ms=1000, steep=0.999)


def test_words_are_read_and_written_as_they_are_typed():
    read = params.read(Waves, {"shore": "rock", "colours": " blue + white", "boats": "3"})
    assert (read.shore, read.colours, read.boats) == ("rock", ("white", "blue"), 3)
    plain = params.plain(read)
    assert (plain["shore"], plain["colours"], plain["boats"]) == ("rock", "white+blue", 3)
    assert params.read(Waves, plain) == read
    assert params.read(Waves, {"boats": "all"}).boats == "all"


class Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Texts: one that somebody must give, and one with a default of its own."""

    who: Annotated[str, Meta(pattern=r"[a-z]\w*", description="whose", extra={"example": "b1"})] = ""
    word: Annotated[str, Meta(pattern=r"\S+", extra={"example": "on"})] = "off"


def test_texts_are_of_their_pattern_and_some_must_be_given():
    assert [(one.name, one.range, one.must_be_given) for one in params.params_of(Named)] == [
        ("who", "text, e.g. b1", True),
        ("word", "text, e.g. on", False),
    ]
    params.check_given(Named, {"who": "c1"})
    with pytest.raises(UsageError, match=r"give who: whose, e\.g\. who=b1"):
        params.check_given(Named, {"word": "on"})
    assert params.plain(params.read(Named, {"who": "c1"})) == {"who": "c1", "word": "off"}
    for wrong in ("C1", "c 1", "", "1"):
        with pytest.raises(UsageError, match=rf"who {wrong}: give text, e\.g\. b1"):
            params.read(Named, {"who": wrong})


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (str, "b1"),
        (Annotated[str, Meta(description="no pattern", extra={"example": "b1"})], "b1"),
        (Annotated[str, Meta(pattern="b.", extra={"example": "b1"})], msgspec.NODEFAULT),
        (bool, True),
        (Literal["a", "b"] | None, None),
        (int | float | Literal["a"], 1),
        (tuple[int, ...], (1,)),
        (Literal["a+b", "c"], "c"),
        (Literal["1", "c"], "c"),
        (Literal["a"], msgspec.NODEFAULT),
    ],
)
def test_what_is_neither_number_nor_words_cannot_be_declared(kind, default):
    wrong = msgspec.defstruct("Wrong", [("who", kind, default)])
    with pytest.raises(TypeError, match=r"Wrong\.who: a parameter of a fault is a number, words or text by a pattern"):
        params.params_of(wrong)


@pytest.mark.parametrize(
    ("text", "canonical", "probability"),
    [
        ("random-loss", "random-loss", 0.8),
        ("random-loss:probability=0.50", "random-loss:probability=0.5", 0.5),
        ("random-loss:probability=1@controller+broker", "random-loss:probability=1.0@broker+controller", 1.0),
        (" random-loss : probability = .25 @broker", "random-loss:probability=0.25@broker", 0.25),
    ],
)
def test_parameters_stand_before_the_roles(text, canonical, probability):
    choice = parse(text, TOPOLOGY)
    assert choice.text == canonical
    assert dict(choice.params) == {"probability": probability}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "random-loss:probability=2",
            "--nemesis random-loss:probability=2: probability 2: give a number from 0 and up",
        ),
        ("random-loss:probability=-0.1", "give a number from 0 and up to 1"),
        ("random-loss:probabilty=0.5", "no parameter 'probabilty'; did you mean probability?"),
        ("random-loss:0.5", "'0.5': write parameters as NAME=VALUE, e.g. random-loss:probability=0.5"),
        ("random-loss:probability=", "write parameters as NAME=VALUE"),
        ("random-loss:probability=.1,probability=.2", "probability is given twice"),
        ("leader-kill:hard=1", "no parameter 'hard'; parameters: none"),
        ("noop:probability=0.5", "noop hits nobody, leave :probability=0.5 out"),
    ],
)
def test_wrong_parameters_of_a_nemesis_are_said_in_one_line(text, said):
    with pytest.raises(UsageError) as error:
        rows(text)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_comma_parts_nemeses_and_parameters():
    assert words("leader-kill, x:a=1,b=2@broker ,random-loss:probability=0.5,noop") == [
        "leader-kill",
        "x:a=1,b=2@broker",
        "random-loss:probability=0.5",
        "noop",
    ]


def test_parameters_go_through_the_plan_to_the_fault(tmp_path: Path):
    planned = rows("random-loss:probability=0.25,leader-kill")
    write_plan(planned, tmp_path / "plan.jsonl")
    assert read_plan(tmp_path / "plan.jsonl") == planned
    loss = next(row for row in planned if row.fault == "loss")
    assert loss.read_params() == LossParams(0.25)
    assert choose(loss, TOPOLOGY, {}).description.endswith(", 25 % loss each way")
    told = loss.identity
    assert (told.kind, told.selector, told.roles) == ("loss", "random", ("broker", "controller"))
    assert told.params == {"probability": 0.25}
    assert (told.nature.hits, told.nature.colour) == ("links", "green")


def test_a_plan_of_an_older_version_has_the_defaults_and_a_wrong_one_is_named(tmp_path: Path):
    path = tmp_path / "plan.jsonl"
    row = {"row": 1, "at_s": 1, "duration_s": 2, "name": "random-loss", "selector": "random", "fault": "loss"}
    path.write_bytes(msgspec.json.encode({**row, "roles": ["broker"], "draw": {"b1": 0.5}}) + b"\n")
    (old,) = read_plan(path)
    assert old.read_params() == LossParams(0.8)
    for change, said in (
        ({"params": {"probability": 7}}, r"probability 7: give a number from 0 and up to 1"),
        ({"fault": "losss"}, r"no fault 'losss' here; did you mean loss\?"),
    ):
        path.write_bytes(msgspec.json.encode({**row, "roles": ["broker"], **change}) + b"\n")
        with pytest.raises(HistoryError, match=rf"plan\.jsonl:1: {said}"):
            read_plan(path)


@pytest.mark.parametrize(
    ("text", "nemesis"),
    [
        ("nemesis: {random-loss@broker: {probability: 0.5}}", "random-loss:probability=0.5@broker"),
        ("nemesis: {random-loss: {probability: 1}, leader-kill: }", "random-loss:probability=1,leader-kill"),
        ("nemesis: {leader-kill: {}}", "leader-kill"),
        (
            "nemesis: {leader-syscall-error@broker: {call: write+fsync, errno: EIO, share: 0.2}}",
            "leader-syscall-error:call=write+fsync,errno=EIO,share=0.2@broker",
        ),
        ("nemesis: {leader-block-port: {port: all}}", "leader-block-port:port=all"),
    ],
)
def test_in_yaml_parameters_are_a_mapping(tmp_path: Path, text, nemesis):
    path = tmp_path / "run.yaml"
    path.write_text(text)
    assert load(path).values["nemesis"] == nemesis
    path.write_text(f"nemesis:\n- {{at: 1, {text}, duration: 2}}\n")
    assert load(path).values["sequence"].steps[0].nemesis == nemesis


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nemesis: {}", "no nemesis is named"),
        ("nemesis: {random-loss: {probability: high}}", "probability high: give a number from 0 and up to 1"),
        ("nemesis: {random-loss@broker: {probability: 7}}", "probability 7: give a number from 0 and up to 1"),
        ("nemesis: {leader-staged-heal: {by: nodes}}", "by nodes: give link or node; did you mean node?"),
        ("nemesis: [{at: 1, nemesis: {all-disk-error: {op: raed}}, duration: 2}]", "did you mean read?"),
        ("nemesis: {random-loss: {probability: yes}}", "probability must be a number, or words joined by +, not 'yes'"),
        (
            "nemesis: {random-loss: {probability: [1]}}",
            "probability must be a number, or words joined by +, not a list",
        ),
        ("nemesis: {leader-disk-error: {op: 'read,write'}}", "op must be a number, or words joined by +"),
        ("nemesis: {leader-disk-error: {op: read@broker}}", "op must be a number, or words joined by +"),
        ("nemesis: {random-loss: 0.5}", "random-loss must be a mapping"),
        ("nemesis: {'random-loss:probability=1': }", "parameters stand in a mapping"),
    ],
)
def test_a_wrong_mapping_is_one_line_with_its_place(tmp_path: Path, text, said):
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}:1: ")
    assert said in str(error.value)


@pytest.fixture
def other_points(monkeypatch: pytest.MonkeyPatch):
    """Entry points beside those that are installed; the registry is read anew, and once more afterwards."""
    own = plugins.entry_points

    def use(**points):
        more = [EntryPoint(name.replace("_", "-"), value, "chaos.faults") for name, value in points.items()]
        monkeypatch.setattr(plugins, "entry_points", lambda group: [*own(group=group), *more])
        plugins.look_again()

    yield use
    plugins.look_again()


class Foreign(faults()["suspend"]):
    """A fault of somebody else's."""

    name = "foreign"
    verb = "estranged"


NOT_A_FAULT = 7


def test_a_fault_of_somebody_else_comes_by_the_same_door_and_a_broken_one_harms_nobody(other_points):
    here = "test_fault_params"
    other_points(
        foreign=f"{here}:Foreign", lame=f"{here}:NOT_A_FAULT", gone="no_such_module:X", misnamed=f"{here}:Foreign"
    )
    assert set(faults()) > {"foreign", "kill"}
    assert "foreign" in faults_on("container")
    assert registry.broken_faults().keys() == {"lame", "gone", "misnamed"}
    assert "no subclass of nemesis.faults.fault.Fault" in registry.broken_faults()["lame"]
    assert "give both one name" in registry.broken_faults()["misnamed"]
    with pytest.raises(UsageError, match="no fault 'gone' here: "):
        registry.fault_named("gone")


def test_every_fault_says_what_it_is():
    for name, fault in faults().items():
        assert issubclass(fault, Fault)
        assert fault.name == name
        assert "{}" in fault.help
        assert params.read(fault.Params, {}) == fault.Params()
        style = (ROOT / "reports/assets/report.css").read_text()
        assert f".k-{fault.colour}{{" in style
        assert f".f-{fault.colour}{{" in style
    for name, fault in faults_on("container").items():
        assert fault.nature() == faults()[name].nature()


def test_the_page_of_faults_is_what_their_classes_say():
    assert (ROOT / "docs/reference/faults.md").read_text() == faults_page.page(), (
        "python -m nemesis.faults.faults_page > docs/reference/faults.md"
    )


def test_the_table_beside_other_tools_names_faults_that_there_are():
    named = {word for row in faults_page.BESIDE for word in re.findall(r"`([a-z-]+)(?::[^`]*)?`", row[-1])}
    assert named <= faults().keys()
    assert {"reset", "throttle", "stutter"} <= named


@pytest.mark.parametrize("machine", [False, True])
def test_the_help_of_restart_says_what_ends_how_long_it_is_away_and_what_comes_after(*, machine):
    fault = faults()["restart"]
    text = (fault.container if machine else fault).help
    assert all(words in text for words in ("stop ", "away while it ends and starts", "when the fault ends"))


def test_no_help_leans_on_that_of_another_fault():
    assert [name for name, fault in faults().items() if "same way" in fault.help] == []
