"""How nodes are started, and the folder that they import from."""

import os
import subprocess
import sys
import time

import msgspec
import pytest
from minimq_view import SYSTEM, view_of
from repository import ROOT

from chaos.core.errors import DeployError, UsageError
from chaos.storage.runinfo import NodeInfo
from cluster.systems.minimq import artefacts, config
from cluster.systems.minimq.server import node_config

FETCH = "from cluster.systems.minimq.artefacts import fetch; print(fetch(lambda line: None))"


def launch(name, view):
    node = next(node for node in view.nodes if node.name == name)
    return SYSTEM.launch(node, f"/nodes/{name}", "/artefacts", view)


def test_topology():
    specs = SYSTEM.topology({})
    assert [(spec.name, spec.role) for spec in specs] == [
        ("c1", "controller"),
        ("c2", "controller"),
        ("c3", "controller"),
        ("b1", "broker"),
        ("b2", "broker"),
        ("b3", "broker"),
    ]
    started = {role for roles in SYSTEM.start_order for role in roles}
    assert {spec.role for spec in specs} == set(SYSTEM.roles) == started


def test_a_node_is_told_everything_by_its_file(tmp_path):
    launched = launch("b2", view_of(minInSyncReplicas="1", brokerTimeout="2"))
    path = tmp_path / "node.json"
    path.write_bytes(launched.files["node.json"])
    told = node_config.load(path)
    assert (told.name, told.role, told.listen) == ("b2", "broker", "198.18.0.14")
    assert (told.controllers, told.brokers) == (("c1", "c2", "c3"), ("b1", "b2", "b3"))
    assert told.addresses["c1"] == "198.18.0.10"
    assert (told.broker.min_in_sync, told.controller.dead_after_ms, told.bug) == (1, 2000, None)
    assert told.data == "/nodes/b2/data"
    assert launched.data == ("data",)


def test_a_node_sees_no_packages_but_its_own():
    launched = launch("c1", view_of())
    assert launched.argv == (
        config.PYTHON,
        "-S",
        "-P",
        "-m",
        "cluster.systems.minimq.server.node",
        "/nodes/c1/node.json",
    )
    assert launched.env["PYTHONPATH"] == "/artefacts"


def test_two_runs_draw_differently():
    view = view_of()
    other = msgspec.structs.replace(view, run_id="another")
    assert launch("c1", view).files != launch("c1", other).files


def test_a_role_that_minimq_does_not_have():
    with pytest.raises(UsageError, match="n1: minimq has no role namesrv; it has controller, broker"):
        SYSTEM.launch(NodeInfo(name="n1", role="namesrv", address="198.18.0.9"), "/h", "/a", view_of())


# ---------------------------------------------------------------- the folder


def fetched(cache):
    said = []
    return artefacts.fetch(said.append, {"CHAOS_CACHE": str(cache)}), said


def test_made_once(tmp_path):
    folder, said = fetched(tmp_path)
    assert len(said) == 1
    assert fetched(tmp_path) == (folder, [])
    assert [path.name for path in (tmp_path / "minimq").iterdir()] == [folder.name]


def test_a_node_starts_from_the_folder_alone(tmp_path):
    folder, _ = fetched(tmp_path)
    code = (
        "import sys, cluster.systems.minimq.server.node, msgspec\n"
        "others = {name.split('.')[0] for name in sys.modules} & {'chaos', 'nemesis', 'numpy', 'click'}\n"
        "print(cluster.__file__, msgspec.__file__, others)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", code],
        env={"PYTHONPATH": str(folder)},
        cwd=tmp_path,
        timeout=60,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [f"{folder}/cluster/__init__.py", f"{folder}/msgspec/__init__.py", "set()"]


def test_two_at_once_make_one_folder(tmp_path):
    env = {**os.environ, "CHAOS_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    both = [
        subprocess.Popen([sys.executable, "-c", FETCH], env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = {process.communicate(timeout=60)[0] for process in both}
    assert [process.returncode for process in both] == [0, 0]
    folder, _ = fetched(tmp_path)
    assert said == {f"{folder}\n"}
    assert [path.name for path in (tmp_path / "minimq").iterdir()] == [folder.name]


def test_a_fetch_that_is_cut_off_leaves_no_half_folder(tmp_path):
    env = {**os.environ, "CHAOS_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", FETCH], env=env, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 30
    while not [*tmp_path.glob("minimq/*.partial-*/made/*")]:
        assert process.poll() is None
        assert time.monotonic() < end
    process.kill()
    process.wait(10)
    folder, said = fetched(tmp_path)
    assert len(said) == 1
    assert (folder / "cluster" / "systems" / "minimq" / "server" / "node_config.py").is_file()


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DeployError, match=r"file.*; make it writable or set CHAOS_CACHE"):
        fetched(tmp_path / "file")
