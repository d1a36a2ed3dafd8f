"""Answers of HTTP servers, whole and in pieces."""

import pytest

from cluster.systems._shared.http import Answer, Http, Request
from cluster.systems._shared.link import Malformed

PLAIN = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"count": "12"}'
CHUNKED = (
    b"HTTP/1.1 503 Service Unavailable\r\nTrailer: Grpc-Trailer-Content-Type\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'10\r\n{"message": "ets\r\n9\r\ncd\\r\\n"} \r\n0\r\nGrpc-Trailer-Content-Type: application/grpc\r\n\r\n'
)


def codec():
    http = Http("198.18.0.10")
    http.encode(7, Request("/", b"{}"))
    return http


@pytest.mark.parametrize(
    ("sent", "status", "body"),
    [
        (PLAIN, 200, b'{"count": "12"}'),
        (CHUNKED, 503, b'{"message": "etscd\\r\\n"} '),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, b""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 200, b"x"),
    ],
)
def test_an_answer_is_whole_with_its_last_byte_only(sent, status, body):
    for cut in range(len(sent)):
        http = codec()
        assert http.feed(sent[:cut]) == []
        assert http.feed(sent[cut:]) == [(7, Answer(status, body))]


def test_an_answer_says_where_to_ask_instead():
    sent = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://198.18.0.11:8080/x\r\nContent-Length: 0\r\n\r\n"
    assert codec().feed(sent) == [(7, Answer(307, b"", "http://198.18.0.11:8080/x"))]


def test_a_request():
    assert Http("198.18.0.10").encode(1, Request("/v3/kv/put", b"{}")) == (
        b"POST /v3/kv/put HTTP/1.1\r\nHost: 198.18.0.10\r\nContent-Length: 2\r\n\r\n{}"
    )
    assert Http("h").encode(1, Request("/debug/vars")).startswith(b"GET /debug/vars HTTP/1.1\r\n")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\xff\r\n\r\n",
        b"HTTP/1.1 fine\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    ],
)
def test_what_is_no_http(sent):
    with pytest.raises(Malformed):
        codec().feed(sent)
