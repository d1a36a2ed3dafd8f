"""etcd's admin interface, asked by the real program of members that are HTTP servers on the loopback."""

import base64
import contextlib
import hashlib
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from system_view import view_of

from chaos.core.errors import DeployError
from chaos.storage.runinfo import NodeInfo
from cluster.admin import (
    ChangesMembers,
    Compacts,
    Defragments,
    TakesSnapshots,
    TellsSettings,
    TellsVersion,
    TransfersLeadership,
    admin_actions_of,
)
from cluster.hosts.local import LocalHost
from cluster.system import ClusterView, Launch
from cluster.systems.etcd.admin import EtcdAdmin, names_of_leaders, read, refusal
from cluster.systems.etcd.gateway import CLIENT_PORT
from cluster.systems.etcd.members import Raft, Variables
from cluster.systems.etcd.system import Etcd

IDS = {"n1": 0xA1, "n2": 0xB2, "n3": 0xFFFFFFFFFFFFFFF3}
LISTED = {"members": [{"ID": str(number), "name": name} for name, number in IDS.items()]}


@contextlib.contextmanager
def served(address, answers, asked):
    """A member: ``answers`` by path, a text or (status, text)."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((self.path, json.loads(body) if body else None))
            answer = answers[self.path]
            status, said = answer if isinstance(answer, tuple) else (200, answer)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        do_POST = do_GET  # noqa: N815 - as the base class has it

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer((address, CLIENT_PORT), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def variables(name, leader):
    lead = f"{IDS[leader]:x}" if leader else "0"
    return {"cmdline": ["etcd"], "raft.status": {"id": f"{IDS[name]:x}", "lead": lead, "term": 2}}


@pytest.fixture
def cluster(tmp_path):
    """Makes an admin of members with these answers; a name without answers is a member that is down."""
    with contextlib.ExitStack() as stack:
        network = f"127.{secrets.randbelow(250) + 2}.{secrets.randbelow(250)}"

        def made(**answers):
            nodes, asked = [], {}
            for place, name in enumerate(IDS, 1):
                nodes.append(NodeInfo(name=name, role="member", address=f"{network}.{place}"))
                if name in answers:
                    asked[name] = []
                    stack.enter_context(served(nodes[-1].address, answers[name], asked[name]))
            view = ClusterView(run_id="run", nodes=tuple(nodes), settings={}, keys=1)
            return EtcdAdmin(view, LocalHost("127.0.0.1", tmp_path)), asked

        yield made


def says(name, leader, **more):
    return {"/debug/vars": variables(name, leader), "/v3/cluster/member/list": LISTED, **more}


MOVE = "/v3/maintenance/transfer-leadership"


PROTOCOLS = {
    "transfer-leadership": TransfersLeadership,
    "compact": Compacts,
    "defragment": Defragments,
    "snapshot": TakesSnapshots,
    "change-members": ChangesMembers,
    "change-setting": TellsSettings,
    "change-version": TellsVersion,
}


def test_what_is_offered_can_be_done(cluster):
    admin, _ = cluster()
    assert admin_actions_of(Etcd("3.5.4"), {}).keys() == PROTOCOLS.keys()
    assert admin_actions_of(Etcd(), {}).keys() == PROTOCOLS.keys() - {"change-version"}, "Debian has one version"
    assert all(isinstance(admin, protocol) for protocol in PROTOCOLS.values())


def test_each_member_is_asked_who_leads_and_one_that_is_down_is_left_out(cluster):
    admin, _ = cluster(n1=says("n1", "n1"), n2=says("n2", None))
    assert admin.leaders("etcd") == {"n1": "n1", "n2": None}


def test_the_leader_is_asked_to_hand_over_to_the_members_number(cluster):
    admin, asked = cluster(n1=says("n1", "n1", **{MOVE: {}}), n3=says("n3", "n1"))
    admin.transfer_leadership("etcd", "n3")
    assert [one for one in asked["n1"] if one[0] == MOVE] == [(MOVE, {"targetID": str(IDS["n3"])})]


def test_a_refusal_is_told_in_the_members_words(cluster):
    refused = (500, {"error": "x", "message": "etcdserver: not leader", "code": 9})
    admin, _ = cluster(n1=says("n1", "n1", **{MOVE: refused}), n3=says("n3", "n1"))
    with pytest.raises(DeployError, match=f"n1: {MOVE}: etcdserver: not leader"):
        admin.transfer_leadership("etcd", "n3")


def test_without_a_leader_nobody_is_asked(cluster):
    admin, asked = cluster(n1=says("n1", None), n3=says("n3", None))
    with pytest.raises(DeployError, match="n3 knows of no leader"):
        admin.transfer_leadership("etcd", "n3")
    assert all(path == "/debug/vars" for one in asked.values() for path, _ in one)


def test_a_leader_that_does_not_answer_is_named_by_its_number():
    rafts = {"n1": Raft(id="a1", lead="f3", term=3), "n2": Raft(id="b2", lead="0", term=3)}
    assert names_of_leaders(rafts) == {"n1": "f3", "n2": None}


RANGE, LIST = "/v3/kv/range", "/v3/cluster/member/list"
STATUS = {"/v3/maintenance/status": {"header": {"revision": "70"}, "raftAppliedIndex": "81"}}


def test_a_revision_is_there_or_forgotten_and_no_other_refusal_means_that(cluster):
    forgotten = (400, {"message": "etcdserver: mvcc: required revision has been compacted"})
    future = (400, {"message": "etcdserver: mvcc: required revision is a future revision"})
    admin, asked = cluster(n1={RANGE: {}, **STATUS}, n2={RANGE: forgotten, **STATUS}, n3={RANGE: future, **STATUS})
    assert (admin.has_revision("n1", 5), admin.has_revision("n2", 5), admin.revision()) == (True, False, 70)
    assert asked["n2"][:1] == [(RANGE, {"key": "AA==", "revision": "5", "serializable": True})]
    with pytest.raises(DeployError, match="n3: /v3/kv/range: etcdserver: mvcc: required revision is a future"):
        admin.has_revision("n3", 5)


def test_another_member_is_asked_to_change_the_members(cluster):
    peers = lambda admin, name: [f"http://{admin._addresses[name]}:2380"]  # noqa: E731
    remove, add = "/v3/cluster/member/remove", "/v3/cluster/member/add"
    answers = {LIST: {}, remove: {}, add: {}, **STATUS}
    admin, asked = cluster(n1=answers, n2=answers)
    there = [{"ID": str(IDS[name]), "name": name, "peerURLs": peers(admin, name)} for name in ("n1", "n2")]
    answers[LIST] = {"members": [*there, {"ID": "9", "peerURLs": ["http://elsewhere:1"]}]}
    assert admin.members("n2") == {"n1": "a1", "n2": "b2"}
    admin.remove_member("n1")
    admin.add_member("n3")
    assert (remove, {"ID": str(IDS["n1"])}) in asked["n2"]
    assert (add, {"peerURLs": peers(admin, "n3")}) in asked["n1"]
    assert admin.position("n1") == 81
    with pytest.raises(DeployError, match="n3 is no member, says n1"):
        admin.remove_member("n3")


def test_without_another_member_nobody_can_be_asked(cluster):
    admin, _ = cluster()
    with pytest.raises(DeployError, match="no member answers"):
        admin.add_member("n1")


def test_a_new_member_is_told_of_the_cluster_that_is_there(cluster):
    admin, _ = cluster()
    argv = ("etcd", "--name=n3", "--initial-cluster=all", "--initial-cluster-state=new", "--logger=zap")
    launch = Launch(argv=argv, env={}, files={}, ready_pattern="x", logs=(), data=())
    at = admin._addresses
    cluster_flag = f"--initial-cluster=n1=http://{at['n1']}:2380,n3=http://{at['n3']}:2380"
    assert admin.joining("n3", launch, ["n1", "n3"]).argv == (
        *("etcd", "--name=n3", cluster_flag, "--initial-cluster-state=existing", "--logger=zap"),
    )


def test_a_snapshot_is_whole_if_its_digest_says_so(cluster, tmp_path):
    whole = b"the database" + hashlib.sha256(b"the database").digest()
    sent = {"/v3/maintenance/snapshot": {"result": {"blob": base64.b64encode(whole).decode()}}}
    refused = {"/v3/maintenance/snapshot": {"error": {"message": "no"}}}
    admin, _ = cluster(n1=sent, n2=refused)
    file = tmp_path / "snapshot"
    assert admin.snapshot_bytes(str(file)) is None
    admin.save_snapshot("n1", str(file))
    assert (file.read_bytes(), admin.snapshot_bytes(str(file))) == (whole, len(whole))
    file.write_bytes(whole[:-1])
    assert admin.snapshot_bytes(str(file)) is None
    with pytest.raises(DeployError, match="the member said"):
        admin.save_snapshot("n2", str(file))


def test_answers_that_nobody_expects_are_errors():
    assert (refusal('{"message": "no"}'), refusal("plain\n"), refusal("")) == ("no", "plain", "")
    with pytest.raises(DeployError, match="a member said what nobody expects"):
        read("{}", Variables)


def test_a_member_says_its_flags_and_its_version(cluster):
    started = {"cmdline": ["/made/etcd", "--name=n1", "--snapshot-count=500", "--pre-vote=true"]}
    told = {**variables("n1", None), **started}
    admin, _ = cluster(n1={"/debug/vars": told, "/version": {"etcdserver": "3.5.9", "etcdcluster": "3.5.0"}})
    assert admin.settings_of("n1") == {"snapshot-count": "500", "pre-vote": "true"}
    assert admin.version_of("n1") == "3.5.9"
    with pytest.raises(DeployError, match="n2: /version: "):
        admin.version_of("n2")


def test_every_flag_that_may_be_changed_is_one_that_a_member_is_started_with():
    system = Etcd("3.5.4")
    view = view_of(system)
    argv = system.launch(view.nodes[0], "/home", "/made", view).argv
    assert set(system.changeable("member")) <= {word.removeprefix("--").partition("=")[0] for word in argv}
    assert system.changeable("learner") == ()
