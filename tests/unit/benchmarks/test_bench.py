"""What benchmarks keep and say: memory of a whole tree, rows, the page, a short disk."""

import importlib
import sys

import pytest
from repository import ROOT

MACHINE = {"cores": 2, "memory": "8 GiB", "python": "3.11", "numpy": "2"}


@pytest.fixture
def bench(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = importlib.import_module("bench")
    monkeypatch.setattr(module, "ROWS", tmp_path / "rows.jsonl")
    monkeypatch.setattr(module, "PAGE", tmp_path / "page.md")
    for place in (module, importlib.import_module("rows")):  # the tree of whoever runs tests has changes
        monkeypatch.setattr(place, "clean_commit", lambda: "abc")
    return module


def row(name, scale, **more):
    return {
        "name": name,
        "scale": scale,
        "commit": "abc",
        "began": "2026-01-01T00:00:00+00:00",
        "machine": MACHINE,
        "entries": [{"who": "ours", "median_s": 1.5, "peak_mib": 2048}],
        "figures": {},
        "met": None,
        "profile": [],
        **more,
    }


def test_the_page_shows_the_latest_full_row_and_says_what_misses(bench):
    rows = [
        row("no-loss", "full", figures={"ratio": 1}, met=True),
        row("no-loss", "full", figures={"ratio": 2}, met=False, profile=[["slow.py:1 f", 0.5]]),
        row("no-loss", "small", figures={"ratio": 3}),
    ]
    page = bench.page(rows, {})
    assert "ratio: 2" in page
    assert "**missed**" in page
    assert "`slow.py:1 f` 50 %" in page
    assert "| ours | 1.5 | 2,048 |" in page
    assert "ratio: 1" not in page
    assert "ratio: 3" not in page
    assert page.count("Not measured yet.") == len(bench.BENCHMARKS) - 1


def test_a_row_without_a_profile_is_shown(bench):
    plain = row("no-loss", "full", met=False)
    del plain["profile"]
    page = bench.page([plain], {})
    assert "| ours | 1.5 | 2,048 |" in page
    assert "where the time goes" not in page


@pytest.mark.broad
def test_what_has_a_row_is_not_run_again(bench, monkeypatch, tmp_path):
    ran = []
    for name, benchmark in list(bench.BENCHMARKS.items()):
        act = lambda place, name=name: ran.append(name) or {"entries": [], "figures": {}, "met": True, "profile": []}  # noqa: E731
        monkeypatch.setitem(bench.BENCHMARKS, name, benchmark._replace(act=act))
    monkeypatch.setattr(sys, "argv", ["bench.py", "run", "--only", "register", "--work", str(tmp_path / "work")])
    bench.main()
    bench.main()
    assert ran == ["register"]
    assert not (tmp_path / "work").exists()
    assert "not decided at this scale" in (tmp_path / "page.md").read_text()
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--again"])
    bench.main()
    assert ran == ["register", "register"]


def test_what_cannot_be_measured_stops_no_other(bench, monkeypatch, tmp_path, capsys):
    def missing(_):
        raise SystemExit("there is no go")

    done = {"entries": [], "figures": {}, "met": None, "profile": []}
    monkeypatch.setitem(bench.BENCHMARKS, "porcupine", bench.BENCHMARKS["porcupine"]._replace(act=missing))
    monkeypatch.setitem(bench.BENCHMARKS, "cores", bench.BENCHMARKS["cores"]._replace(act=lambda _: done))
    with pytest.raises(SystemExit) as caught:
        bench.run(bench.SCALES["small"], ["porcupine", "cores"], tmp_path / "work")
    assert caught.value.code == 255
    assert "porcupine: not measured: there is no go" in capsys.readouterr().err
    assert [row["name"] for row in bench.stored_rows(bench.ROWS)] == ["cores"]


def test_a_short_disk_is_said_before_anything_is_run(bench, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bench.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 10**6}))
    with pytest.raises(SystemExit) as caught:
        bench.run(bench.SCALES["full"], ["billion"], tmp_path / "work")
    assert caught.value.code == 254
    assert "make room" in capsys.readouterr().err


def test_memory_counts_children(bench):
    measuring = importlib.import_module("measuring")
    code = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', "
        "'import time; held = bytearray(80 << 20); time.sleep(1)'], check=True)"
    )
    assert measuring.command([sys.executable, "-c", code])["peak_mib"] >= 80
    with pytest.raises(SystemExit, match="exit 3"):
        measuring.command([sys.executable, "-c", "raise SystemExit(3)"])
