"""Tab completion: what is offered where, and the protocol of each shell's script. test_shells.py drives the shells."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from repository import ROOT

from chaos.cli.completion.shells import SHELLS, answer
from chaos.cli.main import COMMANDS, cli
from chaos.plugins import names


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fish(line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The values for the word at the end of a line, with their kind: fish takes whole words."""
    word = "" if line.endswith(" ") else line.rsplit(" ", maxsplit=1)[-1]
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", word)
    return [row.partition("\t")[0] for row in answer(cli, "fish_complete").splitlines()]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("chaos ru", ["plain,run"]),
        ("chaos list ne", ["plain,nemeses"]),
        ("chaos image b", ["plain,build"]),
        ("chaos run --nem", ["plain,--nemesis"]),
        ("chaos run --live p", ["plain,plain"]),
        ("chaos run --system ", [f"plain,{name}" for name in names("systems")]),
        ("chaos run --backend a", ["plain,auto"]),
        ("chaos run --workload ", ["plain,group", "plain,idempotent", "plain,ordered", "plain,queue"]),
        ("chaos run --system etcd --workload r", ["plain,register", "plain,rw-register"]),
        ("chaos run --bug truncate-a", ["plain,truncate-acked"]),
        ("chaos run --system rocketmq --bug ", []),
        (
            "chaos run --nemesis random-loss",
            [*(f"plain,random-loss{way}" for way in ("", "-in", "-out")), "open,random-loss@", "open,random-loss:"],
        ),
        ("chaos run --nemesis random-loss:", ["open,random-loss:probability="]),
        ("chaos run --nemesis random-loss:probability=", ["plain,random-loss:probability=0.8"]),
        ("chaos run --nemesis random-delay:delay_ms=5,j", ["open,random-delay:delay_ms=5,jitter_ms="]),
        *(
            (f"chaos run --nemesis {typed}", [f"plain,{whole}" for whole in offered])
            for typed, offered in (
                ("leader-staged-heal:by=", ["leader-staged-heal:by=link", "leader-staged-heal:by=node"]),
                ("leader-block-port:port=", ["leader-block-port:port=all"]),
                ("leader-syscall-error:errno=EROF", ["leader-syscall-error:errno=EROFS"]),
                ("noop,leader-disk-error:share=1,op=w", ["noop,leader-disk-error:share=1,op=write"]),
                ("all-disk-error:op=write+", ["all-disk-error:op=write+read", "all-disk-error:op=write+fsync"]),
                ("leader-syscall-delay:call=write+fd", ["leader-syscall-delay:call=write+fdatasync"]),
                ("leader-staged-heal:by=link+", []),
            )
        ),
        ("chaos run --nemesis random-kill@", ["plain,random-kill@broker", "plain,random-kill@controller"]),
        ("chaos run --nemesis random-kill@broker+", ["plain,random-kill@broker+controller"]),
        ("chaos run --nemesis leader-kill@al", ["plain,leader-kill@all"]),
        ("chaos run --system etcd --nemesis random-kill@", ["plain,random-kill@member"]),
        ("chaos run --nemesis noop,bri", ["plain,noop,bridge"]),
        ("chaos run --set minIn", ["open,minInSyncReplicas="]),
        ("chaos run --set broker.minIn", ["open,broker.minInSyncReplicas="]),
        ("chaos run --set minInSyncReplicas=", ["plain,minInSyncReplicas=2"]),
        ("chaos run --set bug=forget", ["plain,bug=forget-vote", "plain,bug=forget-producers"]),
        ("chaos run --set=bug=forget-v", ["plain,--set=bug=forget-vote"]),
        ("chaos run --system rocketmq --set cluster.m", ["open,cluster.mode="]),
        ("chaos run --fault-nodes b1,b", ["plain,b1,b2", "plain,b1,b3"]),
        ("chaos run --report html,", [f"plain,html,{name}" for name in names("reporters") if name != "html"]),
        ("chaos run -d conf", ["file,conf"]),
        ("chaos run --store s", ["dir,s"]),
        ("chaos matrix rock", ["plain,rocketmq-raft"]),
        ("chaos matrix mine.y", ["file,mine.y"]),
        ("chaos check --check no-", ["plain,no-loss"]),
        ("chaos check --format jepsen --model ka", ["plain,kafka"]),
        ("chaos check --format jepsen his", ["file,his"]),
        ("chaos generate --anomaly lost-w", ["open,lost-write="]),
        ("chaos completion f", ["plain,fish"]),
        ("chaos show no-such-run --node ", []),
    ],
)
def test_what_is_offered(line: str, offered: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert fish(line, monkeypatch) == offered


def test_by_hand_one_nemesis_is_offered_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"plain,all-kill", "plain,all"} <= set(fish("chaos run --nemesis al", monkeypatch))
    assert "plain,all-kill" in fish("chaos inject al", monkeypatch)
    assert "plain,all" not in fish("chaos inject al", monkeypatch)


def test_every_command_is_offered_without_being_imported() -> None:
    code = (
        "import os, sys\nfrom chaos.cli.completion.shells import answer\nfrom chaos.cli.main import COMMANDS, cli\n"
        "os.environ |= {'COMP_WORDS': 'chaos ', 'COMP_CWORD': ''}\n"
        "print(answer(cli, 'fish_complete'))\n"
        "loaded = {module for module, _ in COMMANDS.values()} - {'chaos.cli.completion.shells'}\n"
        "sys.exit(f'{loaded & set(sys.modules)}' if loaded & set(sys.modules) else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    named = [row.partition(",")[2].partition("\t")[0] for row in done.stdout.splitlines()]
    assert sorted(named) == sorted(COMMANDS)


def test_runs_and_what_is_in_them_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    from chaos.cli.generate import generate_command

    for name, anomaly in (("20261122T070001Z-0001", ["--anomaly", "lost-write=1"]), ("20261123T070001Z-0002", [])):
        argv = ["--ops", "2000", "--output", f"store/g/{name}", *anomaly]
        assert generate_command.main(argv, standalone_mode=False) == 0
    ids = ["plain,20261123T070001Z-0002", "plain,20261122T070001Z-0001"]
    assert fish("chaos show ", monkeypatch) == ["plain,latest", *ids]
    assert fish("chaos replay 20261122", monkeypatch) == ids[1:]
    assert fish("chaos check 2026", monkeypatch) == ids
    assert fish("chaos show 20261122 --f sen", monkeypatch) == ["plain,send"]
    assert "plain,b1" in fish("chaos show 20261122 --node ", monkeypatch)
    assert fish("chaos show --store elsewhere ", monkeypatch) == ["plain,latest"]


def asked(shell: str, **env: str) -> str:
    """What the command answers a script, as a process of its own."""
    argv = [sys.executable, "-m", "chaos"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "_CHAOS_COMPLETE": f"{shell}_complete", **env}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.removesuffix("\n")


@pytest.mark.parametrize(
    ("line", "word", "end"),
    [
        ("chaos run --nemesis random-loss:prob", "prob", ["open,probability="]),
        ("chaos run --nemesis random-loss:prob", "random-loss:prob", ["open,random-loss:probability="]),
        ("chaos run --nemesis bridge@cont", "@cont", ["plain,@controller"]),
        ("chaos run --set=bug=forget-v", "forget-v", ["plain,forget-vote"]),
        ("chaos run --system ", "", [f"plain,{name}" for name in sorted(names("systems"))]),
    ],
)
def test_bash_gets_the_end_of_the_word_that_it_asks_for(
    line: str, word: str, end: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", word)
    assert answer(cli, "bash_complete").splitlines() == end


def test_zsh_gets_three_lines_for_each_word_with_colons_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = asked("zsh", COMP_WORDS="chaos run --nemesis random-loss:prob", COMP_CWORD="3").splitlines()
    assert lines == ["open", "random-loss\\:probability=", "a number from 0 and up to 1"]
    monkeypatch.setenv("COMP_WORDS", "chaos run --system ro")
    monkeypatch.setenv("COMP_CWORD", "3")
    lines = answer(cli, "zsh_complete").splitlines()
    assert lines[:2] == ["plain", "rocketmq"]
    assert len(lines) == 3


def test_fish_gets_a_line_for_each_word_with_its_help_behind_a_tab() -> None:
    (line,) = asked("fish", COMP_WORDS="chaos run --system ro", COMP_CWORD="ro").splitlines()
    assert line.startswith("plain,rocketmq\tApache RocketMQ")


@pytest.mark.parametrize("instruction", ["bash", "bash_source", "tcsh_complete", "nonsense"])
def test_what_no_script_of_ours_asks_is_answered_with_nothing(instruction: str) -> None:
    assert answer(cli, instruction) == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_asks_for_it(shell: str) -> None:
    done = CliRunner().invoke(cli, ["completion", shell], catch_exceptions=False)
    assert f"_CHAOS_COMPLETE={shell}_complete" in done.stdout
    assert "COMP_WORDS=" in done.stdout
    assert "%(" not in done.stdout
