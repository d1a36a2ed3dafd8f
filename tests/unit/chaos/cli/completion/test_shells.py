"""Tab completion in real bash, zsh and fish: what a line becomes when tab is pressed, and what is listed below it."""

import re
from collections.abc import Iterator

import pytest
from shell_lines import ARGV, Shell

from chaos.cli.completion.shells import SHELLS
from chaos.cli.generate import generate_command
from chaos.cli.main import COMMANDS
from chaos.plugins import names

pytestmark = pytest.mark.broad

RUNS = ("20261122T070001Z-0001", "20261123T070001Z-0002")
LINES = [
    # commands and options
    ("chaos compl", "chaos completion "),
    ("chaos image b", "chaos image build "),
    ("chaos run --nem", "chaos run --nemesis "),
    ("chaos list ne", "chaos list nemeses "),
    ("chaos run --system=rocketm", "chaos run --system=rocketmq "),
    ("chaos run --report html,j", "chaos run --report html,junit "),
    ("chaos run --nonsens", "chaos run --nonsens"),
    # nemeses, with roles, subjects and parameters, one and several
    ("chaos run --nemesis random-flap:p", "chaos run --nemesis random-flap:period_s="),
    ("chaos run --nemesis random-loss:", "chaos run --nemesis random-loss:probability="),
    ("chaos run --nemesis random-loss:probability=", "chaos run --nemesis random-loss:probability=0.8 "),
    ("chaos run --nemesis random-delay:delay_ms=5,j", "chaos run --nemesis random-delay:delay_ms=5,jitter_ms="),
    ("chaos run --nemesis all-disk-error:op=write+fs", "chaos run --nemesis all-disk-error:op=write+fsync "),
    ("chaos run --nemesis random-kill@con", "chaos run --nemesis random-kill@controller "),
    ("chaos run --nemesis random-kill@broker+", "chaos run --nemesis random-kill@broker+controller "),
    ("chaos run --nemesis leader-kill@al", "chaos run --nemesis leader-kill@all "),
    ("chaos run --nemesis noop,random-kill@con", "chaos run --nemesis noop,random-kill@controller "),
    (
        "chaos run --nemesis noop,all-disk-error:share=1,op=w",
        "chaos run --nemesis noop,all-disk-error:share=1,op=write ",
    ),
    ("chaos run --nemesis 'noop,bri", "chaos run --nemesis 'noop,bridge' "),
    ("chaos run --nemesis=noop,bri", "chaos run --nemesis=noop,bridge "),
    # bugs and settings
    ("chaos run --bug truncate-a", "chaos run --bug truncate-acked "),
    ("chaos run --set minInSync", "chaos run --set minInSyncReplicas="),
    ("chaos run --set broker.minIn", "chaos run --set broker.minInSyncReplicas="),
    ("chaos run --set minInSyncReplicas=", "chaos run --set minInSyncReplicas=2 "),
    ("chaos run --set=bug=forget-v", "chaos run --set=bug=forget-vote "),
    # runs and what is in them
    ("chaos show 20261122", f"chaos show {RUNS[0]} "),
    ("chaos check 20261123", f"chaos check {RUNS[1]} "),
    ("chaos compare latest 20261122", f"chaos compare latest {RUNS[0]} "),
    ("chaos show 20261122 --f sen", "chaos show 20261122 --f send "),
    # files and folders
    ("chaos run -d run.y", "chaos run -d run.yaml "),
    ("chaos run --driver=run.y", "chaos run --driver=run.yaml "),
    ("chaos run --store sto", "chaos run --store store/"),
    ("chaos run --store=sto", "chaos run --store=store/"),
    ("chaos check ~/hist", "chaos check ~/history.edn "),
    ("chaos check store/g/20261122", f"chaos check store/g/{RUNS[0]}/"),
]
"""What is typed before a tab, and the whole line then: a blank at its end says that the word is complete."""


@pytest.fixture(scope="module", params=ARGV)
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    home = tmp_path_factory.mktemp(request.param)
    (home / "run.yaml").write_text("rate: 5\n")
    (home / "history.edn").write_text("{}\n")
    for run in RUNS:
        made = generate_command.main(["--ops", "2000", "--output", f"{home}/store/g/{run}"], standalone_mode=False)
        assert made == 0
    started = Shell(request.param, home)
    yield started
    started.close()


def listed(shell: Shell, typed: str) -> str:
    """What is shown below a line that can go on in several ways: bash lists at the second tab."""
    assert shell.after(typed + ("\t\t" if shell.name == "bash" else "\t")) == typed
    return re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|\(B)", "", shell.shown)


def test_every_shell_that_has_a_script_is_driven() -> None:
    assert sorted(ARGV) == sorted(SHELLS)


@pytest.mark.parametrize(("typed", "becomes"), LINES, ids=[typed for typed, _ in LINES])
def test_a_tab_completes_what_is_typed(shell: Shell, typed: str, becomes: str) -> None:
    assert shell.after(f"{typed}\t") == becomes


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("chaos ", sorted(COMMANDS)),
        ("chaos run --system ", names("systems")),
        ("chaos run --bug forget-", ["forget-vote", "forget-producers"]),
        ("chaos show ", ["latest", *RUNS]),
    ],
    ids=["commands", "systems", "bugs", "runs"],
)
def test_what_can_follow_is_listed(shell: Shell, typed: str, offered: list[str]) -> None:
    shown = listed(shell, typed)
    assert [word for word in offered if not re.search(rf"(?<![\w-]){word}(?![\w-])", shown)] == []


@pytest.mark.parametrize("shell", ["zsh", "fish"], indirect=True)
def test_a_line_of_help_stands_beside_what_is_listed(shell: Shell) -> None:
    assert "a controller that restarts knows neither its term nor its vote" in listed(shell, "chaos run --bug forget-")
