"""``chaos check --format``: what the command says of files of other tools, and how it refuses."""

import json

import pytest
from click.testing import CliRunner
from support.etcd_report import Etcd, Report, get, put

from chaos.cli.check import check_command
from chaos.core.errors import UsageError

REGISTER = """\
{:process 0, :type :invoke, :f :write, :value 1, :index 0, :time 10}
{:process 0, :type :ok, :f :write, :value 1, :index 1, :time 20}
{:process 1, :type :invoke, :f :read, :value nil, :index 2, :time 30}
{:process 1, :type :ok, :f :read, :value %s, :index 3, :time 40}
"""
KEYED = """\
{:process 0, :type :invoke, :f :write, :value [x 1]}
{:process 0, :type :ok, :f :write, :value [x 1]}
{:process 1, :type :invoke, :f :read, :value [y nil]}
{:process 1, :type :ok, :f :read, :value [y 1]}
"""
KAFKA = """\
{:process 0, :type :invoke, :f :send, :value [[:send 0 1]], :index 0, :time 0}
{:process 0, :type :ok, :f :send, :value [[:send 0 [0 1]]], :index 1, :time 1}
{:process 0, :type :invoke, :f :send, :value [[:send 0 2]], :index 2, :time 2}
{:process 0, :type :ok, :f :send, :value [[:send 0 [1 2]]], :index 3, :time 3}
{:process 1, :type :invoke, :f :poll, :value [[:poll]], :index 4, :time 4}
{:process 1, :type :ok, :f :poll, :value [[:poll {0 [[%s]]}]], :index 5, :time 5}
"""
LOG = (
    '{"f": "append", "value": 7, "offset": 0, "type": "ok", "invoke": 1, "complete": 2}\n'
    '{"f": "read", "from": 0, "to_end": true, "records": %s, "type": "ok", "invoke": 3, "complete": 4}\n'
)
OPENCHAOS = "0\tput\tREQUEST\ta\tnull\t1\tnull\n0\tput\tRESPONSE\tSUCCESS\ta\tnull\t2\t1\tnull\t0\n"
GET_ALL = "1\tgetAll\tREQUEST\tnull\tnull\t3\tnull\n1\tgetAll\tRESPONSE\tSUCCESS\t%s\tnull\t4\t1\tnull\t0\n"


@pytest.fixture
def check(tmp_path):
    """Judges texts as files: the exit code, and a JSON object for each; ``error`` has what was refused."""

    def run(*texts, **options):
        paths = []
        for i, text in enumerate(texts):
            path = tmp_path / f"h{i}"
            path.write_text(text)
            paths.append(str(path))
        argv = [f"--{name.replace('_', '-')}{'' if value is True else f'={value}'}" for name, value in options.items()]
        done = CliRunner().invoke(check_command, [*paths, "--engine=local", "--json", *argv], standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        run.error = done.stderr
        return done.return_value, [json.loads(line) for line in done.stdout.splitlines()]

    return run


@pytest.mark.parametrize(("value", "code", "valid"), [("1", 0, True), ("nil", 0, True), ("2", 1, False)])
def test_a_register_of_jepsen(check, value, code, valid):
    got, (said,) = check(REGISTER % value, format="jepsen", model="register")
    assert (got, said["valid"], said["model"], said["engine"]) == (code, valid, "register", "local")
    if not valid:
        (example,) = said["anomalies"]["nonlinearizable"]["examples"]
        assert example["sentence"] == "read 2 (op 2, process 1) returned 2, which nobody wrote"


def test_a_missing_order_is_shown_by_the_smallest_sub_history(check):
    lines = []
    for number in range(40):
        for f, value in (("write", number), ("read", number if number != 30 else 7)):
            invoked = value if f == "write" else "nil"
            lines += [
                f"{{:process 0, :type {type_}, :f :{f}, :value {said}}}"
                for type_, said in ((":invoke", invoked), (":ok", value))
            ]
    code, (said,) = check("\n".join(lines) + "\n", format="jepsen", model="register")
    example = said["anomalies"]["nonlinearizable"]["examples"][0]
    shown = {(row["f"], row["argument"] if row["f"] == "write" else row["output"]) for row in example["ops"]}
    assert code == 1
    assert shown == {("write", 7), ("write", 8), ("read", 7)}, "the value came back"


def test_real_time_counts_for_sets_if_told_so(check):
    lines = [
        f"{{:process {process}, :type {type_}, :f :{f}, :value {said}}}"
        for process, f, invoked, value in (
            (0, "add", 1, 1),
            (1, "read", "nil", "#{}"),
            (2, "read", "nil", "#{1}"),
        )
        for type_, said in ((":invoke", invoked), (":ok", value))
    ]
    assert check("\n".join(lines) + "\n", format="jepsen", model="set")[0] == 0
    code, (said,) = check("\n".join(lines) + "\n", format="jepsen", model="set", linearizable=True)
    assert code == 1
    assert list(said["anomalies"]) == ["nonlinearizable"]


def test_options_of_registers(check):
    assert check(REGISTER % "nil", format="jepsen", model="register", nil_means="absent")[0] == 1
    assert check(REGISTER.split("\n", 2)[2] % "5", format="jepsen", model="register", init=5)[0] == 0
    assert check(REGISTER.split("\n", 2)[2] % "5", format="jepsen", model="register", init=4)[0] == 1


def test_keys_are_objects_only_if_told_so(check):
    assert check(KEYED, format="jepsen", model="register")[0] == 1
    code, (said,) = check(KEYED, format="jepsen", model="register", independent=True)
    assert code == 1
    assert said["anomalies"]["nonlinearizable"]["examples"][0]["sentence"].startswith("key y: read 1")


@pytest.mark.parametrize(
    ("polled", "code", "names"),
    [
        ("0 1] [1 2", 0, set()),
        ("1 2", 1, {"lost-write", "unseen"}),
        ("0 1] [1 9", 1, {"inconsistent-offsets", "lost-write", "unseen"}),
        ("0 1] [1 2] [2 9", 2, set()),
    ],
)
def test_a_kafka_history(check, polled, code, names):
    got, (said,) = check(KAFKA % polled, format="jepsen", model="kafka")
    assert got == code
    assert ("phantom" in said["anomalies"]) == ("9" in polled)
    assert {name for name, one in said["anomalies"].items() if not one["allowed"]} == names
    for one in said["anomalies"].values():
        assert one["examples"][0]["sentence"]


def test_what_the_reference_misses_counts_if_strict(check):
    assert check(KAFKA % "0 1] [1 2] [2 9", format="jepsen", model="kafka")[0] == 2
    assert check(KAFKA % "0 1] [1 2] [2 9", format="jepsen", model="kafka", strict=True)[0] == 1


@pytest.mark.parametrize(("records", "code"), [("[[0, 7]]", 0), ("[]", 1), ("[[0, 8]]", 1)])
def test_a_log_of_json_lines(check, records, code):
    got, (said,) = check(LOG % records, format="jsonl")
    assert (got, said["model"]) == (code, "log")
    assert bool(said["anomalies"]) == (code == 1)


@pytest.mark.parametrize(("values", "code"), [("[a, b]", 1), ("[a]", 0), ("[]", 1)])
def test_a_map_of_openchaos(check, values, code):
    assert check(OPENCHAOS + GET_ALL % values, format="openchaos", model="kv")[0] == code


def test_a_file_that_cannot_be_read_disturbs_no_other(check):
    code, said = check(REGISTER % "1", "{:process 0 :type\n" + REGISTER % "1", format="jepsen", model="register")
    assert code == 254
    assert [one["valid"] for one in said] == [True]
    assert "h1:1" in check.error


def test_a_history_that_was_cut_off_is_judged_as_far_as_it_goes(check):
    code, (said,) = check((REGISTER % "2")[:-40], format="jepsen", model="register")
    assert (code, said["valid"]) == (2, "unknown")
    assert said["reason"].startswith("judged as far as it goes")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"format": "jepsen"}, "add --model"),
        ({"format": "jepsen", "model": "registr"}, "did you mean register"),
        ({"format": "porcupine", "model": "kafka"}, "--format jepsen"),
        ({"model": "register"}, "add --format"),
        ({"strict": True}, "add --format"),
    ],
)
def test_a_question_without_sense_is_refused(check, options, says):
    with pytest.raises(UsageError, match=says):
        check(REGISTER % "1", **options)


def test_a_search_that_runs_out_of_its_budget_is_unknown(check):
    lines = [f"{{:process {i}, :type :invoke, :f :cas, :value [{i % 7} {(i * 3 + 1) % 7}]}}" for i in range(26)]
    lines += [f"{{:process {i}, :type :ok, :f :cas, :value [{i % 7} {(i * 3 + 1) % 7}]}}" for i in range(26)]
    code, (said,) = check("\n".join(lines) + "\n", format="jepsen", model="cas-register", init=0, budget=0.001)
    assert (code, said["valid"]) == (2, "unknown")
    assert "operations were placed" in said["reason"]


def test_people_are_told_in_words(tmp_path):
    path = tmp_path / "history.edn"
    path.write_text(REGISTER % "2")
    done = CliRunner().invoke(check_command, [str(path), "--format=jepsen", "--model=register", "--engine=local"])
    assert f"FAIL  {path}  register, 2 operations" in done.stdout
    assert "  read 2 (op 2, process 1) returned 2, which nobody wrote" in done.stdout


def test_a_report_folder_of_etcds_robustness_suite_is_judged(tmp_path):
    etcd, report = Etcd(), Report()
    report.add(1, get("a"), 1, 2, etcd.apply(get("a")))
    report.add(1, put("a", "1"), 3, 4, etcd.apply(put("a", "1")))
    report.add(1, get("a"), 5, 6, {"Range": {"KVs": [], "Count": 0}, "Revision": 2})
    folder, page = report.write(tmp_path / "report"), tmp_path / "page.html"
    arguments = [str(folder), "--format", "etcd-robustness"]
    told = CliRunner().invoke(check_command, [*arguments, "--json"], standalone_mode=False)
    assert told.return_value == 1
    said = json.loads(told.stdout)
    assert (said["valid"], said["model"]) == (False, "kv")
    assert said["anomalies"]["kv-wrong-read"]["examples"][0]["ops"][0]["at"].startswith("client-1/operations.json:")
    told = CliRunner().invoke(check_command, [*arguments, "--report", str(page)], standalone_mode=False)
    assert "kv-wrong-read: 1" in told.stdout
    assert "did not return a, which held 1 of revision 2" in page.read_text()
    wrong = CliRunner().invoke(check_command, [*arguments, "--model", "set"], standalone_mode=False)
    assert "is judged by kv alone" in str(wrong.exception)
