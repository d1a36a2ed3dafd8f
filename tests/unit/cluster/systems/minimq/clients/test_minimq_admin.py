"""minimq's admin interface, asked by the real program of a node that is a socket on the loopback."""

import secrets
import socket
import threading
from contextlib import contextmanager

import msgspec
import pytest
from minimq_view import SYSTEM, view_of

from chaos.core.errors import DeployError
from chaos.storage.runinfo import NodeInfo
from cluster.admin import CHANGE_SETTING, ChangesSettings, HasAdmin, TellsSettings
from cluster.hosts.local import LocalHost
from cluster.system import ClusterView
from cluster.systems.minimq import settings
from cluster.systems.minimq.clients.admin import MiniMQAdmin
from cluster.systems.minimq.protocol.messages import GetSettings, Refused
from cluster.systems.minimq.protocol.wire import PORT, Back, Call, Frames, Hello, frame
from cluster.systems.minimq.server import node_config
from cluster.systems.minimq.server.node_config import NodeConfig


@contextmanager
def node(address, answer):
    """A node that takes one connection, and answers the call by what ``answer`` makes of it."""
    with socket.create_server((address, PORT)) as door:

        def serve():
            link, _ = door.accept()
            with link:
                frames, call = Frames(Hello), None
                while call is None:
                    found = frames.feed(link.recv(1 << 16), count_max=1)
                    if found and isinstance(found[0], Hello):
                        frames = frames.then(Call)
                        found = frames.feed(b"")
                    call = found[0] if found else None
                link.sendall(answer(call))

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join()


@pytest.fixture
def address():
    return f"127.{secrets.randbelow(250) + 2}.{secrets.randbelow(250)}.1"


def admin_of(address, tmp_path, role="broker"):
    info = NodeInfo(name="b1", role=role, address=address)
    return MiniMQAdmin(ClusterView(run_id="run", nodes=(info,), settings={}, keys=1), LocalHost("127.0.0.1", tmp_path))


def config_of(name, **given):
    """What a node of a cluster with these settings is started with."""
    view = view_of(**given)
    info = next(one for one in view.nodes if one.name == name)
    return msgspec.json.decode(SYSTEM.launch(info, "/home", "/made", view).files["node.json"], type=NodeConfig)


def test_a_node_says_every_setting_that_may_be_changed(address, tmp_path):
    config = config_of("b1", lagMax="3", flush="async")
    with node(address, lambda call: frame(Back(call.number, node_config.reported_settings(config)))):
        said = admin_of(address, tmp_path).settings_of("b1")
    assert (said["broker.lagMax"], said["broker.flush"]) == ("3", "async")
    assert set(SYSTEM.changeable("broker")) <= said.keys()


def test_a_controller_says_its_own():
    said = settings.in_effect("controller", node_config.reported_settings(config_of("c1")))
    assert set(SYSTEM.changeable("controller")) <= said.keys()
    assert not set(SYSTEM.changeable("controller")) & set(SYSTEM.changeable("broker"))


def test_it_is_asked_for_its_settings_and_anything_else_is_refused_in_one_line(address, tmp_path):
    heard = []

    def refuse(call):
        heard.append(call.body)
        return frame(Back(call.number, Refused(reason="not-leader")))

    with node(address, refuse), pytest.raises(DeployError, match="b1 does not say its settings: Refused"):
        admin_of(address, tmp_path).settings_of("b1")
    assert heard == [GetSettings()]


def test_a_node_that_is_down_or_cuts_its_answer_off_is_an_error(address, tmp_path):
    with pytest.raises(DeployError, match=r"asking b1: .*refused"):
        admin_of(address, tmp_path).settings_of("b1")
    with (
        node(address, lambda _call: b"\0\0\0\x09only"),
        pytest.raises(DeployError, match="the node closed the connection"),
    ):
        admin_of(address, tmp_path).settings_of("b1")


def test_what_is_offered_can_be_done(tmp_path):
    assert isinstance(SYSTEM, HasAdmin)
    assert isinstance(SYSTEM, ChangesSettings)
    assert set(SYSTEM.admin_actions({})) == {CHANGE_SETTING}
    assert isinstance(admin_of("127.0.0.1", tmp_path), TellsSettings)
