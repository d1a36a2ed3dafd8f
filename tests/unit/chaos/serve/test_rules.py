"""What is answered at all: methods, names, who made the browser ask, and which paths a file can have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.serve.rules import headers, is_loopback, is_our_host, kind_of, parts_of, refusal

HOST = ["127.0.0.1:8010"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "get", ""])
def test_only_reading_is_known(method: str) -> None:
    refused = refusal(method, HOST, {}, "127.0.0.1")
    assert refused is not None
    assert refused.status == 405
    assert refusal("GET", HOST, {}, "127.0.0.1") is None
    assert refusal("HEAD", HOST, {}, "127.0.0.1") is None


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("127.0.0.1:8010", True),
        ("localhost:9999", True),
        ("LOCALHOST", True),
        ("[::1]:8010", True),
        ("10.0.0.7:8010", True),
        ("ci.example:8010", True),
        ("evil.example:8010", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("evil.example:8010@127.0.0.1", False),
        ("127.0.0.1:8010:1", False),
        ("", False),
        ("[::1", False),
        ("127.1", False),
    ],
)
def test_a_name_that_others_can_point_here_is_not_ours(host: str, ours: bool) -> None:
    assert is_our_host(host, "CI.example") is ours


def test_one_host_header_is_needed_and_another_site_may_only_lead_here() -> None:
    for hosts in ([], ["127.0.0.1", "127.0.0.1"]):
        refused = refusal("GET", hosts, {}, "127.0.0.1")
        assert refused is not None
        assert refused.status == 400
    for site in ("cross-site", "same-site"):
        asked = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
        assert refusal("GET", HOST, asked, "127.0.0.1") is not None
        assert refusal("GET", HOST, {**asked, "Sec-Fetch-Mode": "navigate"}, "127.0.0.1") is None
    assert refusal("GET", HOST, {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, "127.0.0.1") is None


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("/", ()),
        ("/g/run/report.html", ("g", "run", "report.html")),
        ("/g/run/report.html?x=1#y", ("g", "run", "report.html")),
        ("/g%40b%2Cc/r", ("g@b,c", "r")),
        ("/a%20b", ("a b",)),
        ("/../x", None),
        ("/g/%2e%2e/x", None),
        ("/g/..%2fx", None),
        ("//etc/passwd", None),
        ("/g//x", None),
        ("/g/", None),
        ("/.lock", None),
        ("/g/%00", None),
        ("/g/..\\x", None),
        ("/g/%ff", None),
        ("http://evil.example/", None),
        ("", None),
        ("/" + "x" * 2000, None),
    ],
)
def test_a_path_names_a_file_or_nothing(target: str, parts: tuple[str, ...] | None) -> None:
    assert parts_of(target) == parts


@given(st.text(max_size=60))
def test_no_part_ever_leads_up_or_is_hidden(text: str) -> None:
    for part in parts_of("/" + text) or ():
        assert part not in ("", ".", "..")
        assert not part.startswith(".")
        assert "/" not in part
        assert "\0" not in part


def test_every_answer_forbids_what_a_page_does_not_need() -> None:
    told = headers()
    assert "default-src 'none'" in told["Content-Security-Policy"]
    assert "connect-src 'none'" in told["Content-Security-Policy"]
    assert "connect-src 'self'" in headers(live=True)["Content-Security-Policy"]
    assert not [name for name in told if name.lower().startswith("access-control")]
    assert kind_of("report.html", is_page=False) == "application/octet-stream"
    assert kind_of("node.log", is_page=False).startswith("text/plain")


def test_only_addresses_of_this_machine_are_loopback() -> None:
    assert [is_loopback(one) for one in ("127.0.0.1", "127.8.0.1", "::1", "localhost")] == [True] * 4
    assert [is_loopback(one) for one in ("0.0.0.0", "::", "10.0.0.1", "ci.example")] == [False] * 4  # noqa: S104
