"""What host and guest tell each other survives the way; what is of another version does not pass for something else."""

from __future__ import annotations

import json

import pytest

from testbed.interop.protocol import (
    CaseRequest,
    CaseResult,
    DeviceFacts,
    GuestFacts,
    Mailbox,
    Opened,
    QpNames,
    WorkerRequest,
    decode,
    encode,
)
from tests.support.simulation import rack_plan

PLAN = rack_plan(2, job={"size_bytes": 4000})
VALUES = [
    GuestFacts((DeviceFacts("rxe0", "eth0", b"\x02IN\x00\x00\x01", b"\x0a\x4d\x00\x02", 1),), {"kernel": "6.1"}),
    Opened("", (QpNames(17, 18, 2**40, 7), QpNames(19, 20))),
    Opened("no device"),
    CaseRequest(
        "loss/middle", "allreduce", 20.0, tuple(WorkerRequest(f"rxe{n}", c) for n, c in enumerate(PLAN.workers)),
        {"linger": True},
    ),
    CaseResult("", ({"t": 1, "node": "h1", "event": "WorkerFinished"},), {"statuses": [0]}),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_come_back_as_they_were(value, tmp_path):
    assert decode(type(value), json.loads(json.dumps(encode(value)))) == value
    mailbox = Mailbox(tmp_path)
    mailbox.put(3, "open", value)
    assert Mailbox(tmp_path).take(3, "open", type(value)) == value


def test_a_whole_number_is_a_good_time_limit():
    assert decode(CaseRequest, {**encode(VALUES[3]), "limit_s": 20}).limit_s == 20.0


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (QpNames, {"send_qpn": 1}),
        (QpNames, {"send_qpn": "1", "recv_qpn": 2, "base_va": 0, "rkey": 0}),
        (Opened, {"error": "", "names": 3}),
        (DeviceFacts, {"device": "rxe0", "interface": "eth0", "mac": "zz", "ip": "", "gid_index": 1}),
        (GuestFacts, []),
    ],
)
def test_what_is_of_another_version_is_refused(kind, data):
    with pytest.raises((KeyError, TypeError, ValueError)):
        decode(kind, data)


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    mailbox = Mailbox(tmp_path)
    assert mailbox.take(1, "result", CaseResult) is None
    mailbox.path(1, "result").with_suffix(".new").write_text('{"error": "')
    assert not mailbox.has(1, "result")
    mailbox.put(1, "result", CaseResult("x"))
    assert mailbox.has(1, "result")
    assert [path.name for path in tmp_path.iterdir()] == ["0001.result.json"]
    mailbox.put(None, "stop", {})
    assert (mailbox.has(None, "stop"), mailbox.has(2, "result")) == (True, False)
