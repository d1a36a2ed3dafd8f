"""What a client asks of a server to add to a set and to read it, and what it makes of the answers."""

import pytest
from nacos_server import INSTANCE, said
from test_nacos_client import FAILED, MARK, SILENT, run

from chaos.core.client import Definite, Indefinite
from chaos.models.objects.set import Add, Elements, F

ADD_AT, LIST = ("POST", INSTANCE), ("GET", f"{INSTANCE}/list")
SERVICE = {"serviceName": f"{MARK}.set.3", "groupName": "chaos"}
WHICH = {**SERVICE, "ip": "10.0.0.9", "port": "1", "ephemeral": "false"}
ADD, READ = (F.ADD, Add(element=9)), (F.READ, None)


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (said("ok"), ("n1", None)),
        (FAILED, (Indefinite, "server error")),
        ((400, said(None, 10000)), (Definite, "parameter missing")),
        (StopIteration, (Indefinite, "closed")),
    ],
)
def test_an_element_is_a_persistent_instance(answer, out):
    assert run([ADD], {ADD_AT: answer}) == ([out], [(*ADD_AT, WHICH)]), "one request, whatever is answered"


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (said([]), ("n1", Elements([]))),
        (said([{"ip": "10.0.0.9", "port": 2}, {"ip": "10.0.0.9", "port": 1}]), ("n1", Elements([9, (1 << 24) + 9]))),
        (FAILED, (Definite, "server error")),
    ],
)
def test_a_read_shows_every_instance_of_a_set(answer, out):
    assert run([READ], {LIST: answer}, client__lookAfter="0") == ([out], [(*LIST, SERVICE)])


@pytest.mark.parametrize(("before", "one", "asks"), [(READ, ADD, ADD_AT), (ADD, READ, LIST)])
def test_a_paused_server_gets_each_request_once(before, one, asks):
    """What comes before has connected."""
    answers = {ADD_AT: said("ok"), LIST: said([]), asks: None}
    out, asked = run([before, one], answers, last_within_s=0.2, client__lookAfter="0")
    assert (out[1], [tuple(request[:2]) for request in asked].count(asks), len(asked)) == (SILENT, 1, 2)
