"""A learner is added by whichever member can, once, and its process becomes etcd."""

import asyncio
import subprocess
import sys
from pathlib import Path

from etcd_member import Member

from cluster.systems.etcd import join

PEER = "http://198.18.0.13:2380"


def joined(tmp_path, answers):
    """What the script printed, and what each member was asked."""

    async def scenario():
        members = [await Member(**own).__aenter__() for own in answers]
        urls = [f"http://127.0.0.1:{one.port}" for one in members]
        argv = [
            sys.executable,
            "-I",
            "-S",
            join.__file__,
            PEER,
            str(tmp_path),
            *urls,
            "--",
            "/bin/echo",
            "I am",
            "etcd",
        ]
        done = await asyncio.to_thread(subprocess.run, argv, capture_output=True, text=True, timeout=60, check=True)
        asked = [one.asked for one in members]
        for one in members:
            await one.__aexit__()
        return done.stdout, asked

    return asyncio.run(scenario())


def test_it_is_added_once_by_a_member_that_can(tmp_path):
    known = []

    def add(body):
        known.append(body)
        return {"member": {"ID": "7"}}

    def members(_):
        return {"members": [{"peerURLs": [PEER]}] if known else []}

    refuses = {"v3__cluster__member__list": {"members": []}, "v3__cluster__member__add": {"message": "unhealthy"}}
    takes = {"v3__cluster__member__list": members, "v3__cluster__member__add": add}
    said, asked = joined(tmp_path, [refuses, takes])
    assert said.endswith("I am etcd\n")
    assert "HTTP Error 500" in said, "what was refused is in its log"
    assert known == [{"peerURLs": [PEER], "isLearner": True}]
    assert asked[1][-1][0] == "v3/cluster/member/list"


def test_one_that_has_data_was_added_before(tmp_path):
    Path(tmp_path, "member").mkdir()
    assert joined(tmp_path, []) == ("I am etcd\n", [])
