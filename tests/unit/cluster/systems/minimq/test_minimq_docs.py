"""docs/systems/minimq.md says what the code does: every setting, every request and reason, and the frame it shows."""

import re
from typing import get_args

from repository import ROOT

from cluster.systems.minimq.protocol import messages
from cluster.systems.minimq.protocol.broker_messages import BrokerRequest, Produce, RejectedReason
from cluster.systems.minimq.protocol.wire import FRAME_BYTES_MAX, PORT, Call, frame
from cluster.systems.minimq.settings import SETTINGS

PAGE = (ROOT / "docs" / "systems" / "minimq.md").read_text()


def test_every_setting_is_there_and_no_other():
    rows = [
        f"| `{name}` | {f'`{setting.default}`' if setting.default else ''} | {setting.help} |"
        for name, setting in SETTINGS.items()
    ]
    assert PAGE.partition("|---|---|---|\n| `broker.minInSync")[2]
    assert "|---|---|---|\n" + "\n".join(rows) + "\n\n" in PAGE


def test_every_request_of_a_client_is_there():
    controllers = (messages.GetMetadata, messages.CreateTopic, messages.GetStatus, messages.GetSettings)
    asked = {kind.__name__ for kind in (*get_args(BrokerRequest), *controllers)}
    assert set(re.findall(r"^\| `(\w+)` \| (?!meaning|reason)[^`|]*\| `\w+`", PAGE, re.MULTILINE)) == asked


def test_every_reason_is_there():
    reasons = {*get_args(RejectedReason), *get_args(messages.Indefinite.__annotations__["reason"])}
    assert [reason for reason in reasons if f"`{reason}`" not in PAGE] == []


def test_the_frame_it_shows():
    call = Call(1, Produce(topic="chaos", queue=0, body=b"hi"))
    assert frame(call).hex() in PAGE
    assert f"port {PORT}" in PAGE
    assert f"at most {FRAME_BYTES_MAX >> 20} MiB" in PAGE
