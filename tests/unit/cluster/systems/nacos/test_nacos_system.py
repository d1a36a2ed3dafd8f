"""Nacos as a plugin: settings, nodes, files and commands, versions, and its errors."""

import re
import zipfile

import pytest
from nacos_server import said
from system_view import view_of

from chaos.core.client import Definite, Indefinite
from chaos.core.errors import UsageError
from chaos.core.op import Type
from chaos.models.coordination import lease
from chaos.models.objects import register
from cluster.systems.nacos import outcomes, programs
from cluster.systems.nacos.settings import HELP
from cluster.systems.nacos.system import Nacos

ELECTION = "nacos.core.protocol.raft.data.election_timeout_ms"
LOADS_AGAIN = "nacos.core.protocol.distro.data.load.retryDelayMs"
EXPIRES = "nacos.naming.client.expired.time"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"client.read": "local"}, "--set client.read: nacos has no such setting here; did you mean client.reads?"),
        ({"x": "1"}, "--set x: nacos has no such setting here; known: cluster.nodes, "),
        ({"cluster.nodes": "4"}, "--set cluster.nodes=4: one of 3, 5"),
        ({"client.reads": "no"}, "--set client.reads=no: one of confirmed, local"),
        ({"client.routing": "all"}, "--set client.routing=all: one of follow, pinned, mixed"),
        ({ELECTION: "4999"}, f"--set {ELECTION}=4999: a whole number from 5000 to 60000"),
        ({EXPIRES: "9999"}, f"--set {EXPIRES}=9999: a whole number from 10000 to 600000"),
        ({"client.naming": "v2"}, "--set client.naming=v2: one of v1, v3"),
        ({"client.namespace": "x"}, "--set client.namespace=x: one of chaos, public"),
        ({"client.lookAfter": "60001"}, "--set client.lookAfter=60001: a whole number from 0 to 60000"),
        ({ELECTION: "x"}, f"--set {ELECTION}=x: a whole number from 5000 to 60000"),
    ],
)
def test_a_bad_setting_is_refused_in_a_line(settings, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        Nacos().resolve(settings)


@pytest.mark.parametrize("many", ["3", "5"])
def test_three_servers_or_five_keep_two_groups(many):
    system = Nacos()
    resolved = system.resolve({"cluster.nodes": many})
    assert set(resolved) == set(HELP)
    names = tuple(spec.name for spec in system.topology(resolved))
    one, other = system.subjects(resolved, 8)
    assert (len(names), one.name, one.kind, one.nodes, one.keys) == (int(many), "nacos", "replica", names, None)
    assert (other.name, other.kind, other.nodes, other.keys) == ("naming", "other", names, ())


def test_a_server_and_its_files():
    view = view_of(Nacos(), **{ELECTION.replace(".", "__"): "6000"})
    made = Nacos().launch(view.nodes[1], "/home/x", "/art", view)
    assert made.files["conf/cluster.conf"] == b"198.18.0.10:8848\n198.18.0.11:8848\n198.18.0.12:8848\n"
    lines = set(made.files["conf/application.properties"].decode().splitlines())
    assert {
        "server.address=198.18.0.11",
        f"{ELECTION}=6000",
        f"{EXPIRES}=20000",
        f"{LOADS_AGAIN}=1000",
        "nacos.server.main.port=8848",
    } <= lines
    assert {"-Dnacos.home=/home/x", "-Dnacos.server.ip=198.18.0.11", "-DembeddedStorage=true"} <= set(made.argv)
    assert made.argv[3:5] == ("sh", "/art")
    assert made.data == ("data",)


def test_registers_and_leases_are_known():
    system = Nacos()
    assert system.operations("register", {}) == set(register.F)
    assert system.operations("lease", {}) == set(lease.F)
    assert system.operations("set", {}) == frozenset(), "its reads are stale by design"
    assert system.operations("counter", {}) == frozenset()
    assert list(system.pinned({"client.routing": "mixed"}, 8)) == [False] * 5 + [True] * 3


def test_what_is_promised():
    system = Nacos()
    promised = system.promises(system.resolve({ELECTION: "6000"}))
    assert (promised.recovers_within_s, promised.rejoins_within_s, promised.allowed) == (138.0, 138.0, {})
    assert system.promises(system.resolve({})).recovers_within_s == 135.0


def test_one_version_can_be_had():
    system = Nacos()
    assert system.at("3.1.0-bugfix").version == programs.VERSION
    assert (
        b"<artifactId>nacos-server</artifactId>\n<version>3.1.0-bugfix</version>"
        in programs.distribution(programs.VERSION).pom
    )
    with pytest.raises(UsageError, match=r"--system-version 3\.1\.0: of Nacos only 3\.1\.0-bugfix can be had"):
        system.at("3.1.0")


def test_a_distribution_says_its_version_by_a_jar_that_its_jar_holds(tmp_path):
    whole = tmp_path / programs.WHOLE
    with pytest.raises(
        UsageError, match=r"target/nacos-server\.jar cannot be read: .*; name a folder that holds target/"
    ):
        Nacos().built(tmp_path)
    whole.parent.mkdir()
    whole.write_bytes(b"no jar")
    with pytest.raises(UsageError, match=r"target/nacos-server\.jar cannot be read: File is not a zip file"):
        Nacos().built(tmp_path)
    zipfile.ZipFile(whole, "w").close()
    with pytest.raises(
        UsageError, match=r"0 nacos-core-\*\.jar in .* instead of one; name a folder that holds target/"
    ):
        Nacos().built(tmp_path)
    with zipfile.ZipFile(whole, "w") as jar:
        jar.writestr("BOOT-INF/lib/nacos-core-3.1.1.jar", "")
        jar.writestr("BOOT-INF/lib/nacos-config-3.1.1.jar", "")
    own = Nacos().built(tmp_path)
    assert (own.version, own.fetch(print)) == ("3.1.1", tmp_path)


@pytest.mark.parametrize("row", outcomes.TABLE, ids=lambda row: f"{row.code}")
def test_what_each_error_makes_of_a_write(row):
    out = outcomes.outcome(500, said(None, row.code), write=True)
    assert (type(out), str(out)) == (Definite if row.type is Type.FAIL else Indefinite, row.name)
    assert type(outcomes.outcome(500, said(None, row.code), write=False)) is Definite
