"""Bad inputs of every kind: each gets one clear line on the error stream and exit code 254, and leaves nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import Said, said_of_each

from chaos.cli import main

FILES = {
    "file": "",
    "broken.yaml": "rate: [\n",
    "binary.yaml": b"\xff\xfe",
    "empty.yaml": "",
    "odd.yaml": "system: minimq\nnemesys: noop\n",
    "twice.yaml": "rate: 1\nrate: 2\n",
    "wrong.yaml": "clients: many\n",
    "time.yaml": "system: minimq\ntime-limit: 10 minutes\n",
    "step.yaml": "nemesis:\n- {at: 5, nemesis: leader-kill}\n",
    "noaxes.yaml": "repeats: 2\n",
    "gate.yaml": "system: minimq\nthresholds:\n- lost==0\n- lots==0\n",
    "gate2.yaml": "fail-on: [lost-wrte]\n",
    "gate3.yaml": "allow:\n- {anomaly: stale-tail, system: minimq}\n",
    "gate4.yaml": "allow:\n- anomaly: stale-tial\n  system: minimq\n  reason: x\n",
    "gate5.yaml": "allow:\n- {anomaly: stale-tail, system: minimq, reason: x, until: soon}\n",
    "gate6.yaml": "allow:\n- {anomaly: stale-tail, system: minimqq, reason: x}\n",
    "gate7.yaml": "allow:\n- {anomoly: stale-tail}\n",
    "gate8.yaml": "thresholds: lost==0\n",
    "gate9.yaml": "thresholds: ['p99(sned)<1s']\n",
    "gatem.yaml": "base: {thresholds: ['rto(leader-kil)<=5s']}\naxes:\n  nemesis: [noop]\n",
    "gaten.yaml": "base: {thresholds: ['p99(sned)<=5s']}\naxes:\n  nemesis: [noop]\n",
    "matrix.yaml": "axes:\n  nemesis: [leader-kil]\n",
    "bad.jsonl": '{"row": 1\n',
    "nodes": "n1\n",
    "oddnodes": "nodes:\n  - {adress: n1}\n",
    "oddreuse": "brokr:\n  start: x\n",
    "garbage.edn": "}{",
    "store/g/20261122T070001Z-0001/run.json": "{",
    "theirs/run.json": '{"name": "other"}',
    "cut/run.json": '{\n "id": "20261122T070001Z-0001",\n "status": "che',
}
"""What lies in the folder where each command is typed; the run in the store is damaged."""

NUMBERS = [
    ("run -c 0", "-c/--clients 0: give a whole number from 1 to 10000"),
    ("run -c many", "-c/--clients many: give a whole number"),
    ("run --workers 100", "--workers 100: give a whole number from 1 to 64"),
    ("run --rate 0", "-r/--rate 0: give a number above 0 and up to 1000000"),
    ("run --rate fast", "-r/--rate fast: give a number"),
    ("run --rto-budget -1", "--rto-budget -1: give a duration from 0 to 1d"),
    (
        "run --time-limit 10x",
        "-t/--time-limit 10x: give a duration above 0 and up to 30d, as in 90, 500ms, 10m or 1h30m",
    ),
    ("run --fault-duration 0", "--fault-duration 0: give a duration above 0"),
    ("run --seed -3", "--seed -3: give a whole number from 0 to 9223372036854775807"),
    ("run --port 70000", "--port 70000: give a whole number from 1 to 65535"),
    ("run --keys 1.5", "--keys 1.5: give a whole number from 1 to 1024"),
    ("run --drain-deadline 10", "--drain-deadline 10: give a duration from 2m to 1d"),
    ("run --message-size 1e12", "--message-size 1e12: give a whole number from 0 to 4194304"),
    ("run --backend docker --cpus 0", "--cpus 0: give a number of cores"),
    ("run --backend docker --memory lots", "--memory lots: give at least 16m"),
    ("generate --ops 0 --output x", "--ops 0: give a whole number from 1"),
    ("generate --ops 10 --output x", "--ops 10: too few for a verdict over --keys 4; take at least"),
    ("generate --ops 1k --anomaly lost-write=0 --output x", "--anomaly lost-write=0: say how many"),
    ("show -1 --context -1", "--context -1: give a whole number from 0"),
    ("show -1 --key two", "--key two: give a whole number"),
    ("show -1 --from soon", "--from soon: give a duration"),
    ("matrix rocketmq-raft --scale 0", "--scale 0: give a number above 0 and up to 1"),
    ("inject leader-kill --duration 0", "--duration 0: give a duration above 0"),
    ("check latest --budget 0", "--budget 0: give a duration from 1ms"),
    ("publish out --last 0", "--last 0: give a whole number from 1"),
    ("serve store --port 70000", "--port 70000: give a whole number from 0 to 65535"),
    ("compare -1", "RUN: 1 given; give two to 8"),
    ("run --repeat 0", "--repeat 0: give a whole number from 1 to 1000000"),
    ("run --repeat 1e9", "--repeat 1e9: give a whole number from 1 to 1000000"),
    ("run --repeat 2 --jobs 1000000000", "--jobs 1000000000: give a whole number from 1 to 64"),
    ("hunt --runs 1e9", "--runs 1e9: give a whole number from 1 to 100000"),
    ("hunt --jobs 65", "--jobs 65: give a whole number from 1 to 64"),
    ("hunt --budget 0", "--budget 0: give a duration above 0 and up to 30d"),
    ("hunt --confirm none", "--confirm none: give a whole number from 1 to 1000"),
    ("hunt --shrink-budget 1y", "--shrink-budget 1y: give a duration above 0"),
    ("hunt --rate 0", "-r/--rate 0: give a number above 0"),
    ("shrink -1 --confirm 1001", "--confirm 1001: give a whole number from 1 to 1000"),
    ("shrink -1 --at-least 0", "--at-least 0: give a whole number from 1 to 1000"),
    ("shrink -1 --measure 1.5", "--measure 1.5: give a whole number from 0 to 1000"),
    ("up --keys 0", "--keys 0: give a whole number from 1 to 1024"),
    ("up --ready-deadline soon", "--ready-deadline soon: give a duration above 0"),
]
GATES = [
    ("run --threshold lots==0", "--threshold lots==0: no figure 'lots'; did you mean lost?"),
    ("run --threshold lost=0", "--threshold lost=0: = compares nothing; write == for equal"),
    ("run --threshold lost", "--threshold lost: no comparison; write lost==0"),
    ("run --threshold lost==many", "limit 'many': give a whole number, as in 0"),
    ("run --threshold p99<1s", "p99 needs an operation in brackets, as in p99(send)<200ms"),
    ("run --threshold p99(send)<200", "limit '200': give a duration, as in 200ms or 5s"),
    ("run --threshold p99(sned)<1s", "the workload queue has no operation 'sned'; did you mean send?"),
    ("run --threshold availability>=99", "limit '99': give a share, as in 99%"),
    ("run --threshold rto(leader-kil)<=5s", "no fault 'leader-kil'; did you mean leader-kill?"),
    ("run --threshold anomalies(stale-raed)==0", "no anomaly 'stale-raed'; did you mean stale-read?"),
    ("check -1 --threshold rpo<=0s", "one lost message spans no time"),
    ("check -1 --threshold rto(leader-kil)<=5s", "no fault 'leader-kil'; did you mean leader-kill?"),
    ("check x --check no-loss --threshold lost==0", "--threshold: of a whole run, not of some checks"),
    ("matrix rocketmq-raft --threshold lots==0", "--threshold lots==0: no figure 'lots'; did you mean lost?"),
    ("matrix rocketmq-raft --dry-run --threshold p99(sned)<1s", "--threshold p99(sned)<1s: the workload queue has"),
    ("run --fail-on unknwon", "nothing to fail on is called 'unknwon'; did you mean unknown?"),
    ("check -1 --fail-on lost-wrte", "nothing to fail on is called 'lost-wrte'; did you mean lost-write?"),
    ("matrix rocketmq-raft --fail-on ,", "--fail-on ',': a name is missing"),
    ("check -1 --junit none/x.xml", "--junit none/x.xml: there is no folder none; make it first"),
    ("check -1 --summary none/x.md", "--summary none/x.md: there is no folder none; make it first"),
    ("run -d gate.yaml", "gate.yaml:4: threshold lots==0: no figure 'lots'; did you mean lost?"),
    ("run -d gate2.yaml", "gate2.yaml:1: fail-on: nothing to fail on is called 'lost-wrte'; did you mean lost-write?"),
    ("run -d gate3.yaml", "gate3.yaml:2: this finding of allow has no reason; write {anomaly:"),
    ("run -d gate4.yaml", "gate4.yaml:2: no anomaly 'stale-tial'; did you mean stale-tail?"),
    ("run -d gate5.yaml", "gate5.yaml:2: until 'soon': give a day as in 2030-01-31"),
    ("run -d gate6.yaml", "gate6.yaml:2: no system 'minimqq'; did you mean minimq?"),
    ("run -d gate7.yaml", "gate7.yaml:2: unknown key 'anomoly'; did you mean anomaly?"),
    ("run -d gate8.yaml", "gate8.yaml:1: thresholds must be a list, not 'lost==0'"),
    ("run -d gate9.yaml", "gate9.yaml:1 p99(sned)<1s: the workload queue has no operation 'sned'"),
    (
        "matrix gatem.yaml",
        "gatem.yaml:1: threshold rto(leader-kil)<=5s: no fault 'leader-kil'; did you mean leader-kill?",
    ),
    ("matrix gaten.yaml", "p99(sned)<=5s: the workload queue has no operation 'sned'; did you mean send?"),
]
NAMES = [
    ("nonsense", "nonsense: no such command; see chaos --help"),
    ("chek", "chek: no such command; did you mean check?"),
    ("image bild", "bild: no such command; did you mean build?"),
    ("run --sytem x", "--sytem: no such option; did you mean --system?"),
    ("show --bogus", "--bogus: no such option; see chaos show --help"),
    ("run --system rocketmw", "unknown system 'rocketmw'; did you mean rocketmq?"),
    ("init minimqq", "unknown system 'minimqq'; did you mean minimq?"),
    ("fetch --system rocketmw", "unknown system 'rocketmw'; did you mean rocketmq?"),
    ("fetch --system redis --system-version 8", "--system-version 8: redis can be had in 7.0.15 only; leave it out"),
    ("image build --system rocketmw", "unknown system 'rocketmw'; did you mean rocketmq?"),
    ("run --backend netnz", "unknown backend 'netnz'; did you mean netns?"),
    ("run --workload quue", "unknown workload 'quue'; did you mean queue?"),
    ("run --nemesis random-partitoin", "no nemesis 'random-partitoin'; did you mean random-partition?"),
    ("run --nemesis random-kill@brokr", "did you mean broker?; roles: broker, controller"),
    ("run --nemesis random-loss:probability=2", "probability 2: give a number from 0 and up to 1"),
    ("run --nemesis random-loss:probabilty=0.5", "no parameter 'probabilty'; did you mean probability?"),
    ("run --nemesis random-loss:probability", "write parameters as NAME=VALUE"),
    ("run --nemesis noop@broker", "noop hits nobody, leave @broker out"),
    ("run --nemesis leader-kill,", "--nemesis 'leader-kill,': a name is missing"),
    ("run --nemesis leader-kill@all+brokers", "all is every subject, name it alone"),
    ("run --bug forget-vot", "--bug forget-vot: minimq has no such bug; did you mean forget-vote?"),
    ("run --set minInSyncReplica=1", "did you mean minInSyncReplicas?"),
    ("run --set novalue", "--set novalue: write it as key=value"),
    ("run --set minInSyncReplicas=many", "broker.minInSyncReplicas=many: a whole number"),
    ("run --system etcd --set pre-vote=perhaps", "--set pre-vote=perhaps: true or false"),
    ("run --check no-los", "--check no-los: no such check; did you mean no-loss?"),
    ("check -1 --check no-los", "--check no-los: no such check; did you mean no-loss?"),
    ("run --report htm", "--report htm: no such reporter; did you mean html?"),
    ("run --live ritch", "--live ritch: did you mean rich?"),
    ("list nemesis", "GROUP nemesis: did you mean nemeses?"),
    ("completion tcsh", "SHELL tcsh: give one of bash, zsh, fish"),
    ("check x.edn --format jepsn", "--format jepsn: did you mean jepsen?"),
    ("check garbage.edn --format jepsen --model kafkaa", "--model kafkaa: no such model; did you mean kafka?"),
    ("check garbage.edn --format jepsen", "add --model, one of kafka"),
    ("check x --master foo", "--master foo: no master; name local[N]"),
    ("generate --ops 1k --anomaly lost-wirte=1 --output x", "no 'lost-wirte' can be planted; did you mean lost-write?"),
    ("hunt --system rocketmw", "unknown system 'rocketmw'; did you mean rocketmq?"),
    ("hunt --backend smi", "unknown backend 'smi'; did you mean sim?"),
    ("hunt --bug forget-vot", "--bug forget-vot: minimq has no such bug; did you mean forget-vote?"),
    ("hunt --workload quue", "unknown workload 'quue'; did you mean queue?"),
    ("hunt --workload queue,", "--workload 'queue,': a name is missing"),
    ("hunt --nemesis leader-kil", "no nemesis 'leader-kil'; did you mean leader-kill?"),
    ("hunt --nemesis leader-kill,", "--nemesis 'leader-kill,': a name is missing"),
    ("hunt --guide of", "--guide of: did you mean off?"),
    ("hunt --set minInSyncReplica=1", "did you mean minInSyncReplicas?"),
    ("shrink latest --sytem x", "--sytem: no such option; did you mean --system?"),
    ("up --system rocketmw", "unknown system 'rocketmw'; did you mean rocketmq?"),
    ("up --backend netnz", "unknown backend 'netnz'; did you mean netns?"),
    ("up --nemesis noop", "--nemesis: no such option"),
    ("up --set novalue", "--set novalue: write it as key=value"),
    ("down --now", "--now: no such option; see chaos down --help"),
    ("clean --dry", "--dry: no such option; did you mean --dry-run?"),
]
PLACES = [
    ("run -d none.yaml", "-d none.yaml: No such file"),
    ("run -d file/none.yaml", "-d file/none.yaml: Not a directory"),
    ("run -d .", "-d .: Is a directory"),
    ("run -d broken.yaml", "broken.yaml:2: not YAML"),
    ("run -d binary.yaml", "-d binary.yaml: not a text file"),
    ("run -d empty.yaml", "empty.yaml: it is empty"),
    ("run -d odd.yaml", "odd.yaml:2: unknown key 'nemesys'; did you mean nemesis?"),
    ("run -d twice.yaml", "twice.yaml:2: rate stands in twice.yaml:1 already"),
    ("run -d wrong.yaml", "wrong.yaml:1: clients must be a whole number from 1 to 10000, not 'many'"),
    ("run -d time.yaml", "time.yaml:2: time-limit must be a duration above 0"),
    ("run -d step.yaml", "step.yaml:2: this step has no duration"),
    ("run --plan none.jsonl", "none.jsonl: no such file"),
    ("run --plan bad.jsonl", "bad.jsonl:1: "),
    ("run --nodes-file none", "--nodes-file none: No such file"),
    ("run --nodes-file oddnodes", "oddnodes:2: unknown key 'adress'; did you mean address?"),
    ("run --nodes-file nodes --key none", "--key none: there is no such file"),
    ("run --nodes-file nodes --reuse none", "--reuse none: No such file"),
    ("run --nodes-file nodes --reuse oddreuse", "brokr"),
    ("run --store file/runs", "--store file/runs: Not a directory; name a folder that can be written"),
    ("init minimq --output none/chaos.yaml", "none/chaos.yaml: No such file"),
    ("init minimq --output file", "file: it is there already"),
    ("matrix none.yaml", "none.yaml: no such file, and no shipped matrix"),
    ("matrix noaxes.yaml", "noaxes.yaml: no axes:"),
    ("matrix matrix.yaml", "leader-kil.1: --nemesis leader-kil: no nemesis"),
    ("check no-such", "no-such: no such run folder, and no run in store begins so"),
    ("check .", ".: no run.json in it"),
    ("check file", "file: a file, not a run folder; chaos check file --format NAME --model NAME reads one of another"),
    ("check missing.edn --format jepsen --model set", "missing.edn: there is no such file"),
    ("check . --format jepsen --model set", ".: a folder, not a file; leave out --format for a run folder"),
    ("check garbage.edn --format jepsen --model set", "garbage.edn:1:1: } closes nothing"),
    ("report no-such", "no-such: no such run folder"),
    ("replay no-such", "no-such: no such run folder"),
    ("show no-such", "no-such: no such run folder"),
    ("show latest", "latest: no such run folder"),
    ("show -7", "-7: there are 1 runs in store"),
    ("show -1", "run.json is no JSON: Input data was truncated; copy the run folder again, or name a run folder that"),
    ("check -1", "run.json is no JSON: "),
    ("report -1", "run.json is no JSON: "),
    (
        "check theirs",
        "theirs/run.json was not written by chaos: Object missing required field `schema_version`; name",
    ),
    ("check cut", "cut/run.json is damaged: Input data was truncated; copy the run folder again"),
    ("replay -1", "it has no config.yaml to repeat"),
    ("compare -1 no-such", "no-such: no such run folder"),
    ("compare -1 -7", "-7: there are 1 runs in store"),
    ("compare . file", ".: no run.json in it"),
    ("publish file", "file: it is there already and chaos did not publish it; name another, or remove it"),
    ("publish none/out", "none/out: there is no folder none; make it first"),
    ("publish store/out", "store/out: name a place outside of store"),
    ("publish out --store none", "none: no runs in it; name a store"),
    ("serve none", "none: no such folder; make a run with chaos run, or name another"),
    ("serve store --bind 203.0.113.1 --port 0", "give another --bind or --port"),
    ("serve store --bind no.such.invalid --port 0", "give another --bind or --port"),
    ("status", "no cluster is up; see chaos up --help"),
    ("inject leader-kill", "no cluster is up; see chaos up --help"),
    ("down", "no cluster is up; see chaos up --help"),
    ("down --store none", "no cluster is up; see chaos up --help"),
    ("up --store file/runs", "--store file/runs: Not a directory; name a folder that can be written"),
    ("up -d none.yaml", "-d none.yaml: No such file"),
    ("hunt -d none.yaml", "-d none.yaml: No such file"),
    ("hunt --store file/runs", "--store file/runs: Not a directory; name a folder that can be written"),
    ("hunt --corpus file/runs", "file/runs: Not a directory"),
    ("hunt --replay none", "--replay none: it keeps no plan; name the folder of a hunt that found something"),
    ("shrink no-such", "no-such: no such run folder"),
    ("shrink -1", "it has no config.yaml to repeat"),
    ("generate --ops 1k --output store", "--output store: it exists"),
    ("generate --ops 1k --model kafka --output made", "ends in .edn or .json"),
]
CONTRADICTIONS = [
    ("run --pin", "--pin needs --plan"),
    ("run -n b1", "--fault-nodes b1: it goes with a fixed- nemesis"),
    ("run --nemesis fixed-kill", "say whom with --fault-nodes"),
    ("run --nemesis fixed-kill -n b9", "--fault-nodes b9: no such node"),
    ("run --backend netns --image x", "--backend netns has no --image; it belongs to --backend docker"),
    ("run --backend ssh", "--backend ssh: name the machines in a file"),
    ("run --backend netns --kill container", "--kill container: hosts in namespaces are no containers"),
    ("run --bug forget-vote --set bug=offset-gap", "two bugs at once; give one"),
    ("run --bug duplicate-on-retry --workload queue", "leave --workload out"),
    ("run --bug forget-vote --system rocketmq", "rocketmq carries no bugs"),
    ("run --workload pop", "clients of minimq make no pop"),
    ("run --workload register", "minimq has no clients for the model register"),
    ("compare -1 -1", "RUN -1: it is given twice; name another run"),
    ("show -1 --from 50 --to 40", "--from 50s: it is after --to 40s; swap them"),
    ("check x --model kafka", "--model: only for histories of other tools; add --format"),
    ("check x.edn --format jepsen --model set --check no-loss", "--check: only for run folders"),
    ("check x --engine local --master local[2]", "only for Spark; leave out --engine local"),
    ("check x --driver-host here", "--driver-host here: only with --master"),
    ("generate --ops 1k --txn-length 3 --output x", "--txn-length: only for --model kafka"),
    ("inject all", "inject all: one fault at a time"),
    ("inject leader-kill,bridge", "one fault at a time"),
    ("run --until-failure", "--until-failure, --jobs: only with --repeat N"),
    ("run --repeat 2 --backend netns", "--repeat: only with --backend sim"),
    ("hunt --at-least 4", "--at-least 4: it cannot fail more often than --confirm 3"),
    ("hunt --bug forget-vote --system rocketmq", "rocketmq carries no bugs"),
    ("up --bug forget-vote --set bug=offset-gap", "two bugs at once; give one"),
]
WORDS = [
    ("check", "PATHS is missing; see chaos check --help"),
    ("show", "RUN is missing; see chaos show --help"),
    ("compare", "RUN is missing; see chaos compare --help"),
    ("publish", "DIR is missing; see chaos publish --help"),
    ("serve store other", "got unexpected extra argument (other); see chaos serve --help"),
    ("list", "GROUP is missing"),
    ("generate --ops 1k", "--output is missing; see chaos generate --help"),
    ("run extra", "got unexpected extra argument (extra); see chaos run --help"),
    ("run -c", "-c: needs a value"),
    ("run --set", "--set: needs a value"),
    ("run --pin=3", "--pin: takes no value"),
    ("run --rto", "--rto: recovery times are always measured"),
    ("run --password x", "--password: no passwords in command lines"),
    ("shrink", "RUN is missing; see chaos shrink --help"),
    ("hunt -1", "-1: no such option; see chaos hunt --help"),
    ("hunt --runs", "--runs: needs a value"),
    ("hunt --keep-going=3", "--keep-going: takes no value"),
    ("up now", "got unexpected extra argument (now); see chaos up --help"),
    ("up --store", "--store: needs a value"),
    ("down now", "got unexpected extra argument (now); see chaos down --help"),
    ("clean 7", "got unexpected extra argument (7); see chaos clean --help"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.mark.parametrize(
    ("line", "says"), [*NUMBERS, *GATES, *NAMES, *PLACES, *CONTRADICTIONS, *WORDS], ids=lambda value: value
)
def test_it_is_refused_in_one_line(
    line: str, says: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["chaos", *line.split()])
    before = sorted(place.rglob("*"))
    code = main.run()
    said = capsys.readouterr()
    assert (code, said.out) == (254, ""), said.err
    assert said.err.startswith("chaos: "), said.err
    assert said.err.count("\n") == 1, said.err
    assert says in said.err
    assert sorted(place.rglob("*")) == before, "nothing is left behind"


LOCKED = [
    "run -d locked/x.yaml",
    "run --plan locked/plan.jsonl",
    "run --store locked/store",
    "run --nodes-file locked/nodes",
    "init minimq --output locked/x.yaml",
    "generate --ops 1k --output locked/x",
    "matrix locked/m.yaml",
    "check locked/run",
    "check locked/x.edn --format jepsen --model set",
    "show locked/run",
    "ls --store locked",
    "replay -1 --store locked",
    "report locked/run",
]


UNPRIVILEGED = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
"""What makes a process have no right to read everything; root loses it for this process."""


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Said]:
    """What each line comes to beside a folder that may not be read."""
    beside = tmp_path_factory.mktemp("beside")
    locked = beside / "locked"
    locked.mkdir()
    locked.chmod(0)
    said = said_of_each([line.split() for line in LOCKED], before=UNPRIVILEGED, cwd=beside)
    locked.chmod(0o700)
    return dict(zip(LOCKED, said, strict=True))


@pytest.mark.parametrize("line", LOCKED)
def test_what_may_not_be_read_or_written_is_named(line: str, refused: dict[str, Said]) -> None:
    code, _, err = refused[line]
    assert code == 254, err
    assert err.count("\n") == 1, err
    assert "locked" in err
    assert "Permission denied" in err


@pytest.mark.parametrize("argv", [["show"], ["check"], ["run", "-d"], ["run", "--store"], ["matrix"]], ids=" ".join)
def test_a_name_that_is_too_long_is_one_line_and_not_longer(
    argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["chaos", *argv, "x" * 5000])
    assert main.run() == 254
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "File name too long" in said


@pytest.mark.broad
def test_a_full_disk_is_said() -> None:
    with Path("/dev/full").open("w") as full:
        argv = [sys.executable, "-m", "chaos", "list", "nemeses"]
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (
        254,
        "chaos: the output: No space left on device; make room, or write elsewhere\n",
    )


def test_there_are_many_and_each_is_another() -> None:
    lines = [line for line, _ in (*NUMBERS, *GATES, *NAMES, *PLACES, *CONTRADICTIONS, *WORDS)]
    assert len(lines) == len(set(lines)) > 50
