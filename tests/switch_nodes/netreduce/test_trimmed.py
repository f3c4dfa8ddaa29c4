"""What a full queue left of a contribution: it passes as it came, and counts for nothing."""

from __future__ import annotations

import pytest

from switch_nodes.netreduce import NetReduceProgram, create_netreduce
from switch_nodes.netreduce.frames import FrameReader
from switch_nodes.netreduce.tables import FrameKind
from tests.support.netreduce_harness import Bench, Job
from workloads.machine import BatchMachine, FrameBatch
from workloads.wire.trimming import trim

PROGRAMS = pytest.mark.parametrize("make", [NetReduceProgram, create_netreduce], ids=["reference", "as made"])
IRN = pytest.mark.parametrize("irn", [False, True], ids=["gbn", "irn"])


@IRN
@PROGRAMS
def test_it_goes_on_and_its_slot_waits_for_the_packet_itself(make: object, irn: bool) -> None:
    job = Job(irn=irn)
    bench = Bench(job, make)  # type: ignore[arg-type]
    bench.run_through(1)
    for offset in range(2):
        cut = trim(job.frame(1, 1, offset))
        assert cut is not None
        assert bench.everyone(1, offset, but=(1,)) == []
        assert bench.feed(cut, job.port(1)) == [(job.port(2), cut)]
        assert bench.data(1, 1, offset) == bench.all_of(1, offset)
    assert (bench.counters()["trimmed"], bench.reasons()) == (2, [])


@PROGRAMS
def test_in_a_batch_too(make: object) -> None:
    """The compiled program hands it back."""
    job = Job()
    bench = Bench(job, make)  # type: ignore[arg-type]
    bench.run_through(1)
    cut = trim(job.frame(1, 1, 0))
    assert cut is not None
    batch = FrameBatch.of(2, 2000)
    batch.append(job.port(0), job.frame(0, 1, 0))
    batch.append(job.port(1), cut)
    if isinstance(bench.program, BatchMachine):
        bench.program.receive_batch(batch, 0)
    else:
        for row in range(2):
            bench.program.receive_frame(int(batch.ports[row]), batch.row(row), 0)
    assert [(port, bytes(frame)) for port, frame in bench.program.frames_to_send(0)] == [(job.port(2), cut)]
    assert bench.counters()["trimmed"] == 1


def test_damaged_headers_are_no_trimmed_packet() -> None:
    """A PSN that is wrong would ask for another packet."""
    job = Job()
    bench = Bench(job)
    cut = bytearray(trim(job.frame(1, 0, 0)) or b"")
    cut[53] ^= 1
    assert bench.feed(bytes(cut), job.port(1)) == []
    assert bench.reasons() == ["icrc"]
    whole = FrameReader(bench.program.rings.values()).read(job.port(1), job.frame(1, 0, 0))
    assert whole[0] is FrameKind.DATA


def test_from_a_wrong_port_it_goes_nowhere() -> None:
    job = Job()
    bench = Bench(job)
    cut = trim(job.frame(1, 0, 0))
    assert cut is not None
    assert bench.feed(cut, job.port(2)) == []
    assert bench.reasons() == ["wrong_port"]
