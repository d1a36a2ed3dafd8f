"""A run's options in YAML: every option can stand there, each value keeps its line, and nothing is guessed."""

from pathlib import Path

import pytest

from chaos.cli.run import run_command
from chaos.core.errors import UsageError
from chaos.options.config_file import load, long_option
from chaos.options.experiment import Experiment, as_yaml, resolve_experiment
from nemesis.plan.sequence import Step, Steps


def written(folder: Path, text: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(text)
    return path


def test_values_come_with_their_type_and_line(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "system: minimq\n# a comment\nrate: 300\ntime-limit: 20\nclients: 4\nkill: container\nimage: img:1\ncpus: 0.5\n"
        "install: yes\nbug: truncate-acked\nsettings:\n  minInSyncReplicas: 1\n  flag: true\n  version: 5.10\n",
    )
    got = load(path)
    assert got.values == {"system": "minimq", "rate": 300.0, "time_limit_s": 20.0, "clients": 4, "kill": "container"}
    assert isinstance(got.values["rate"], float)
    assert got.backend_options == {"image": "img:1", "cpus": "0.5", "install": True}
    assert got.settings == {"minInSyncReplicas": "1", "flag": "true", "version": "5.10"}
    assert got.bug == "truncate-acked"
    assert got.origins == {
        "system": f"{path}:1",
        "rate": f"{path}:3",
        "time_limit_s": f"{path}:4",
        "clients": f"{path}:5",
        "kill": f"{path}:6",
        "image": f"{path}:7",
        "cpus": f"{path}:8",
        "install": f"{path}:9",
        "bug": f"{path}:10",
        "settings.minInSyncReplicas": f"{path}:12",
        "settings.flag": f"{path}:13",
        "settings.version": f"{path}:14",
    }


def test_durations_and_counts_are_read_as_people_write_them(tmp_path: Path) -> None:
    got = load(
        written(
            tmp_path,
            "time-limit: 1h30m\nop-timeout: 500ms\nrate: 1e3\nconcurrency: 1k\nkeys: 0.5k\n"
            "watchdog: 1m\nnemesis:\n- {at: 1m30s, nemesis: leader-kill, duration: 20s}\n",
        )
    )
    steps = Steps(steps=(Step(nemesis="leader-kill", at=90, duration=20),))
    assert got.values == {
        "time_limit_s": 5400.0,
        "op_timeout_s": 0.5,
        "rate": 1000.0,
        "clients": 1000,
        "keys": 500,
        "nemesis": "sequence",
        "sequence": steps,
    }
    assert got.backend_options == {"watchdog_s": 60.0}


def test_every_long_option_of_run_is_a_key() -> None:
    from chaos.options.config_file import known_keys

    keys = known_keys()
    # The file itself, the mapping `settings:`, the terminal, and how many runs are made of it.
    beside = {"driver", "set", "help", "live", "repeat", "until-failure", "jobs"}
    for parameter in run_command.params:
        name = next((option.removeprefix("--") for option in parameter.opts if option.startswith("--")), "help")
        if name not in beside and not getattr(parameter, "hidden", False):
            assert keys.get(name) == parameter.name
            assert name == long_option(str(parameter.name))


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("system: minimq\nnemesys: noop\n", 2, "unknown key 'nemesys'; did you mean nemesis?"),
        ("minInSyncReplicas: 1\n", 1, "keys of the system stand below settings:"),
        ("rate: fast\n", 1, "rate must be a number above 0 and up to 1000000, not 'fast'"),
        ("rate: true\n", 1, "rate must be a number above 0 and up to 1000000, not 'true'"),
        ("clients: 2.5\n", 1, "clients must be a whole number from 1 to 10000, not '2.5'"),
        ("seed: 0x10\n", 1, "seed must be a whole number"),
        ("time-limit: 1:30\n", 1, "time-limit must be a duration above 0 and up to 30d"),
        ("workers: 100\n", 1, "workers must be a whole number from 1 to 64, not '100'"),
        ("drain-deadline: 1m\n", 1, "drain-deadline must be a duration from 2m to 1d"),
        ("port: 0\n", 1, "port must be a whole number from 1 to 65535"),
        ("rto-budget: -1\n", 1, "rto-budget must be a duration from 0 to 1d"),
        ("system:\n", 1, "system must be text, not nothing"),
        ("nemesis: no\n", 1, "nemesis must be text, not 'no'"),
        ("engine: fast\n", 1, "one of auto, spark, local"),
        ("rate: 1\nrate: 2\n", 2, "rate stands in"),
        ("clients: 1\nworkers: 1\nconcurrency: 2\n", 3, "is said in"),
        ("settings: 5\n", 1, "settings must be a mapping"),
        ("settings:\n  a: 1\n  b:\n", 3, "b must be one word, not nothing"),
        ("settings:\n  a: 1\n  a: 2\n", 3, "a stands in"),
        ("backend_options: {imag: x}\n", 1, "did you mean image?"),
        ("- rate\n", 1, "the file must be a mapping"),
        ("rate: [\n", 2, "not YAML"),
        ("a: &x 1\n<<: *x\n", 1, "unknown key"),
        ("name: RocketMQ\ndriverClass: io.openchaos.driver.rocketmq.RocketMQDriver\nnodes:\n- n1\n", 2, "OpenChaos"),
    ],
)
def test_what_cannot_be_names_the_file_the_line_and_the_fault(text: str, line: int, says: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load(path)
    assert f"{path}:{line}:" in str(caught.value)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_file_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it is empty"):
        load(written(tmp_path, text))


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"-d .*none\.yaml: No such file"):
        load(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="Is a directory"):
        load(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a text file"):
        load(tmp_path / "binary")


def test_the_config_of_a_run_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    given = {
        "nemesis": "leader-kill,random-loss@broker",
        "rto_budget_s": 5.0,
        "plan": "a: {b",
        "seed": 7,
        "backend_options": {"image": "x: {y}", "port": 22, "install": True},
    }
    for settings in ({"client.routing": "follow", "word": "yes", "number": "1_0"}, {}):
        experiment = resolve_experiment(given, settings, 1)
        got = load(written(tmp_path, as_yaml(experiment)))
        assert got.settings == settings
        assert got.backend_options == given["backend_options"]
        again = resolve_experiment({**got.values, "backend_options": got.backend_options}, got.settings, 99)
        assert {**_plain(again), "origins": 0} == {**_plain(experiment), "origins": 0}


def _plain(experiment: Experiment) -> dict[str, object]:
    import msgspec

    return dict(msgspec.structs.asdict(experiment))


STEPS = """\
nemesis:
  repeat: until-time-limit
  steps:
  - {at: 10, nemesis: leader-kill@broker, duration: 20}
  - {after: 5, nemesis: random-loss, duration: 10.5}
time-limit: 200
"""


def test_a_nemesis_may_be_a_sequence_and_config_yaml_gives_it_back(tmp_path: Path) -> None:
    got = load(written(tmp_path, STEPS))
    steps = (
        Step(nemesis="leader-kill@broker", at=10, duration=20),
        Step(nemesis="random-loss", after=5, duration=10.5),
    )
    assert got.values == {
        "nemesis": "sequence",
        "sequence": Steps(steps=steps, repeat="until-time-limit"),
        "time_limit_s": 200.0,
    }
    assert got.origins["nemesis"].endswith(":1")
    experiment = resolve_experiment(got.values, {}, 1)
    again = load(written(tmp_path, as_yaml(experiment)))
    assert again.values["sequence"] == experiment.sequence
    assert resolve_experiment({**got.values, "nemesis": "leader-kill"}, {}, 1).sequence is None
    plain = load(written(tmp_path, "nemesis:\n- {at: 1, nemesis: leader-kill, duration: 2}\n"))
    assert plain.values["sequence"] == Steps(steps=(Step(nemesis="leader-kill", at=1, duration=2),))


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("nemesis: []\n", 1, "no step is in the list"),
        ("nemesis: {repeat: 2}\n", 1, "nemesis has no steps"),
        ("nemesis:\n  stepps: []\n", 2, "unknown key 'stepps'; did you mean steps?"),
        ("nemesis:\n  repeat: 0\n  steps: []\n", 2, "repeat must be at least 1, or until-time-limit"),
        ("nemesis:\n- {at: 1, nemesis: noop}\n", 2, "this step has no duration"),
        ("nemesis:\n- {at: 1, nemesis: noop, length: 2}\n", 2, "unknown key 'length'"),
        ("nemesis:\n- {at: 1, after: 2, nemesis: noop, duration: 2}\n", 2, "give one of at"),
        ("nemesis:\n- {nemesis: noop, duration: 2}\n", 2, "give one of at"),
        (
            "nemesis:\n- {at: -1, nemesis: noop, duration: 2}\n",
            2,
            "at must be a duration from 0 to 30d, as in 90, 500ms, 10m or 1h30m, not '-1'",
        ),
        ("nemesis:\n- {at: 1, nemesis: noop, duration: 0}\n", 2, "duration 0: give seconds above 0"),
        ("nemesis:\n- {at: soon, nemesis: noop, duration: 1}\n", 2, "at must be a duration"),
    ],
)
def test_a_wrong_sequence_is_one_line_with_its_place(tmp_path: Path, text: str, line: int, says: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert says in str(error.value)
