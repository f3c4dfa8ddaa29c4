"""Documents of finished runs, for tests of what is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed.checkers import CheckContext, reference
from testbed.faults.model import LinkDown, Loss
from testbed.history import Record
from testbed.report.document import judge
from testbed.worlds.base import RunFacts
from tests.support.judged import (
    FakeSource,
    Frames,
    Step,
    altered,
    good_capture,
    good_history,
    inserted,
    small_plan,
    with_sums,
    without,
    write_capture,
)
from tests.support.records import a_record
from topologies import format_ip

REPLAY = "tb run small --seed 3"


def strike(plan: Any, fault: str, kind: str, rank: int, psn: int, at: int) -> Record:
    queue_pair = plan.workers[rank].to_successor
    there, back = format_ip(queue_pair.envelope.src_ip), format_ip(queue_pair.envelope.dst_ip)
    return a_record(at, "s1", "FaultStruck", fault=fault, kind=kind, backend="user", target=f"h{rank + 1}-s1",
        direction="up", flow=f"{there}>{back}:{queue_pair.peer_qpn}", opcode=7, psn=psn, occurrence=1)  # fmt: skip


def lossy_context(folder: Path) -> CheckContext:
    """A passing run: two packets of h1 were lost on one fault, one of h2 on another."""
    plan = small_plan(Loss("loss-1", links=("h1-s1",), rate=0.01), LinkDown("flap", links=("h2-s1",)))
    history = good_history(plan)
    middle = len(history) // 2
    history[middle:middle] = [
        strike(plan, "loss-1", "loss", 0, 3, 3000_000),
        strike(plan, "loss-1", "loss", 0, 4, 3100_000),
        strike(plan, "flap", "link_down", 1, 4, 3200_000),
        a_record(3300_000, "h1", "Retransmission", qpn=1, cause="nak", psn=3, packets=2),
        a_record(3350_000, "h2", "Retransmission", qpn=1, cause="timeout", psn=4, packets=1),
        a_record(3400_000, "s1", "ResultReplayed", ring_id=1, rank=0, message=1, offset=2),
    ]
    history.append(a_record(9_000_000, "h1", "TrainingProgress", iteration=1, loss=0.5, accuracy=0.875))
    history = altered(history, "RcStatistics", {"packets_retransmitted": 2}, node="h1")
    frames = Frames(plan)
    lost = Step(False, 0, frames.data(0, 2), ("lost", 0, 2), lost="filter")
    capture = write_capture(plan, inserted(with_sums(plan, good_capture(plan)), 8, lost), folder)
    return CheckContext(plan, history, (capture,))


def result_of(context: CheckContext, monkeypatch: pytest.MonkeyPatch, **facts: Any) -> dict[str, Any]:
    monkeypatch.setattr(reference, "default_sources", lambda: FakeSource)
    environment = {"kernel": "6.1.0", "backend": "native", "code": "native"}
    return judge(context, RunFacts(environment=environment, **facts), world="emulated", replay=REPLAY)


def failing_context() -> CheckContext:
    """A run without capture, made to fail: the link of h3 dies, its queue pair gives up; the machine was slow too."""
    plan = small_plan(LinkDown("dead", links=("h3-s1",)), capture=False, expect="fail")
    history = good_history(plan)
    history = without(history, "WorkerFinished")
    history = without(history, "CollectiveCompleted", iteration=1)
    history = without(history, "MessageReceived", message=4)
    history = without(history, "MessageAggregated", message=4)
    history = without(history, "MessagePosted", node="h2", message=4)
    history = altered(history, "PlaneStatistics", {"socket_drops": 7}, node="s1")
    history.append(strike(plan, "dead", "link_down", 2, 7, 4_000_000))
    history.append(
        a_record(1_100_000_000, "h3", "QpFailed", qpn=plan.workers[2].to_successor.qpn, status="RETRY_EXC", psn=7,
            detail="8 timeouts of 134 ms <towards> 10.77.0.2")
    )  # fmt: skip
    return CheckContext(plan, history)
