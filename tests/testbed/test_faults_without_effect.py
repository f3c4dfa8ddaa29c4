"""A fault that changed nothing did not strike, in both worlds: a run with it proves nothing about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.cli import main
from tests.support.selection import in_both_worlds

SCENARIO = """
name: idle
topology: {{kind: rack, hosts: 2, link: {{rate: 100Mbps}}}}
job: {{size: 4kB, message_packets: 2, window_messages: 2, straggler: {{rank: 1, delay: 300ms}}}}
transport: {{timeout: 17}}
faults: [{{name: idle, {fault}}}]
time_limit: 20s
"""
BOTH = [
    pytest.param("simulated"),
    pytest.param("emulated", marks=[pytest.mark.root, pytest.mark.mininet]),
]


def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str, world: str) -> tuple[int, Any, str]:
    """(exit code, fault in result.json, what `faults_exercised` says)"""
    file = tmp_path / "idle.yaml"
    file.write_text(SCENARIO.format(fault=fault), encoding="utf-8")
    code = main(["run", str(file), "--world", world, "--set", "dilation=1", "--out", str(tmp_path / "run"), "--json"])
    told = capsys.readouterr()
    assert told.out, told.err
    result = json.loads(told.out)
    detail = next(check["detail"] for check in result["checks"] if check["name"] == "faults_exercised")
    return code, result["faults"][0], detail


_IDLE = [
    ("kind: duplicate, rate: 100%, delay: 60min", "what it sent later was due at 3,600"),
    ("kind: duplicate, links: [h1-s1], direction: down, rate: 100%, delay: 60min",
        "what it sent later was due at 3,600"),
    ("kind: reorder, rate: 100%, delay: 3ms, links: [h1-s1], direction: up",
        "no later packet overtook what it held back"),
    ("kind: rate_change, links: [h2-s1], rate: 1Mbps, from: 100ms, until: 150ms",
        "the link carried nothing while its rate was another"),
    ("kind: rate_change, links: [h1-s1], rate: 1Mbps, from: 3s, until: 4s",
        "it starts at 3 s and the run ended at"),
    ("kind: pause, node: h1, from: 100ms, until: 101ms", "no frame and no timer was held up by it"),
    ("kind: pause, node: s1, from: 100ms, until: 100001us", "no frame and no timer was held up by it"),
]  # fmt: skip
"""(fault, why it did not strike)"""


@pytest.mark.parametrize(("fault", "why", "world"), in_both_worlds(_IDLE, emulated=_IDLE[::3]))
def test_such_a_fault_did_not_strike(tmp_path, capsys, fault, why, world):
    code, told, detail = run(tmp_path, capsys, fault, world)
    assert (code, told["strikes"], told["targets"]) == (2, 0, {}), detail
    assert f"idle never hit: {why}" in detail


@pytest.mark.parametrize("world", BOTH)
@pytest.mark.parametrize(
    ("fault", "strikes"),
    [
        (("kind: duplicate, links: [h1-s1], direction: up, rate: 100%, delay: 1ms, match: {opcode: data, message: 1, "
         "attempt: 1}"), 2),
        (("kind: reorder, links: [h1-s1], direction: up, delay: 20ms, match: {opcode: data, message: 1, packet: 0, "
         "attempt: 1}"), 1),
        ("kind: rate_change, links: [h2-s1], rate: 1Mbps, from: 100ms, until: 2s", 2),
        ("kind: pause, node: s1, from: 250ms, until: 400ms", 1),
    ],
)  # fmt: skip
def test_one_that_changed_something_did(tmp_path, capsys, fault, strikes, world):
    code, told, detail = run(tmp_path, capsys, fault, world)
    assert (code, told["strikes"], detail) == (0, strikes, f"every fault hit: idle {strikes}x")
