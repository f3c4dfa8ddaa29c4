from __future__ import annotations

import contextlib
import json
import re
import threading

import pytest

from testbed.interop.cases import case_scenario, choose_cases
from testbed.interop.protocol import (
    CaseRequest,
    CaseResult,
    DeviceFacts,
    GuestFacts,
    Mailbox,
    Opened,
    QpNames,
    WorkerRequest,
)
from testbed.plan import make_plan
from workloads.codec import PLAIN, Misfit


def a_request() -> CaseRequest:
    (case,) = choose_cases(("patience/receiver-not-ready",))
    workers = make_plan(case_scenario(case, 3)).workers
    return CaseRequest(
        "x/y", "allreduce", 12.5, tuple(WorkerRequest(f"rxe{n}", w) for n, w in enumerate(workers)), {"a": [1]}
    )


@pytest.mark.parametrize(
    "value",
    [
        a_request(),
        Opened("", (QpNames(17, 18, 1 << 47, 0xFFFFFFFF), QpNames(19, 20))),
        CaseResult(
            "no", ({"t": 1, "node": "h1", "event": "WorkerFinished", "iterations": 1},), {"statuses": [0, None]}
        ),
        GuestFacts((DeviceFacts("rxe0", "eth0", b"\2INA\0\1", bytes((10, 77, 0, 2)), 1),), {"kernel": "6.1"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_put_is_what_is_taken(value, tmp_path):
    mailbox = Mailbox(tmp_path)
    assert mailbox.take(7, "what", type(value)) is None
    mailbox.put(7, "what", value)
    assert mailbox.has(7, "what")
    assert not mailbox.has(8, "what")
    assert mailbox.take(7, "what", type(value)) == value


def test_names_of_files(tmp_path):
    mailbox = Mailbox(tmp_path)
    mailbox.put(12, "open", {})
    mailbox.put(None, "stop", {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0012.open.json", "stop.json"]


def test_a_whole_number_passes_for_a_time():
    data = PLAIN.encode(a_request())
    data["limit_s"] = 12
    assert PLAIN.decode(CaseRequest, data).limit_s == 12.0


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (lambda data: data.pop("kind"), "kind: is missing"),
        (lambda data: data.update(kind=5), "kind: not text"),
        (
            lambda data: data["workers"][0]["config"]["to_successor"]["envelope"].update(src_mac="zz"),
            "workers.0.config.to_successor.envelope.src_mac: not bytes",
        ),
        (
            lambda data: data["workers"][0]["config"]["to_successor"].update(qpn="17"),
            "workers.0.config.to_successor.qpn: not a whole number",
        ),
    ],
)
def test_a_message_of_another_version_is_refused(damage, error):
    data = json.loads(json.dumps(PLAIN.encode(a_request())))
    damage(data)
    with pytest.raises(Misfit, match=re.escape(error)):
        PLAIN.decode(CaseRequest, data)


def test_a_file_is_never_seen_half_written(tmp_path):
    """A reader that looks all the time sees either nothing or a whole value."""
    mailbox, value, wrong, over = Mailbox(tmp_path), {"pad": "x" * 300_000}, [], threading.Event()

    def read() -> None:
        while not over.is_set():
            with contextlib.suppress(FileNotFoundError):
                size = mailbox.path(1, "result").stat().st_size
                if size < 300_000:
                    wrong.append(size)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(40):
        mailbox.put(1, "result", value)
        mailbox.path(1, "result").unlink()
    over.set()
    reader.join()
    assert wrong == []
