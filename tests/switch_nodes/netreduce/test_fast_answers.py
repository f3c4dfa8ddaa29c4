"""Switches of `irn-held` in C against the reference: data that is counted as it comes and leaves, and answers with maps
that are added to, on a rack, a leaf and a spine."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from switch_nodes.config import LeafLinks, SwitchConfig
from switch_nodes.netreduce import NetReduceProgram
from switch_nodes.netreduce.answers import AnswerMaps, MappedAnswer
from tests.support.batches import fast_netreduce
from tests.support.held_answers import map_in, with_answers
from tests.support.native import needs_native
from tests.support.netreduce_harness import Job
from tests.switch_nodes.netreduce.test_fast import Stream, compare, fast, mark, misname, record, spoil
from tests.switch_nodes.netreduce.test_fast_fabric import streams
from workloads.machine import Buffer, FrameBatch
from workloads.wire.held_map import NO_PSN

pytestmark = needs_native("switch_programs")
LATE = "faults.0={kind: reorder, name: late, links: all, direction: both, rate: 5%, delay: 3ms}"
TWICE = "faults.0={kind: duplicate, name: twice, links: all, direction: both, rate: 8%, delay: 1ms}"
DAMAGED = "faults.0={kind: corrupt, name: bits, links: all, direction: both, rate: 5%}"


class Witness(AnswerMaps):
    """Counts what becomes of maps."""

    met: Counter[str] = Counter()

    def read(self, frame: Buffer) -> MappedAnswer | None:
        mapped = super().read(frame)
        came, left = map_in(frame), None if mapped is None else map_in(mapped.frame)
        if came is None:
            return mapped
        if mapped is None or left is None:
            self.met["as it is"] += 1
            return mapped
        kept = came.bits & (1 << left.packets) - 1
        self.met["added to" if left.bits != kept else "nothing to add"] += 1
        self.met["cut"] += left.packets < came.packets
        self.met["full"] += left.packets == 64
        self.met["no newest"] += left.newest == NO_PSN
        self.met["up"] += mapped.port is not None
        self.met["in a longer frame"] += len(mapped.frame) < len(frame)
        return mapped


@pytest.fixture(autouse=True)
def met(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    monkeypatch.setattr(NetReduceProgram, "maps_class", Witness)
    monkeypatch.setattr(Witness, "met", Counter())
    return Witness.met


def config_of(*jobs: Job) -> SwitchConfig:
    """A switch with the rings of all these, told to add to maps."""
    macs = tuple({mac: port for job in jobs for mac, port in job.config().macs}.items())
    rings = tuple(replace(job.ring(), tells_held=True) for job in jobs)
    return replace(jobs[0].config(), macs=macs, rings=rings)


def drawn_job(seed: int, **changes: object) -> Job:
    draw = random.Random(seed)
    job = Job(
        size=draw.choice((2, 3, 4)), lengths=(1, *(draw.choice((1, 3, 6, 6, 6)) for _ in range(7))), message_packets=6,
        window=draw.choice((1, 2, 3)), seed=seed, tail_bytes=draw.choice((None, 8)), irn=True,
    )  # fmt: skip
    return replace(job, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(8))
def test_random_traffic_on_a_rack(seed: int, met: Counter[str]) -> None:
    """The PSNs of rank 0 wrap inside a message."""
    job = drawn_job(seed)
    config, stream = config_of(job), mark(record(job, seed, (0.0, 0.05, 0.2)[seed % 3]), seed)
    counters = compare(config, with_answers(stream, seed), seed)
    assert counters["results_out"] >= job.size * len(job.places())
    assert min(met[name] for name in ("added to", "nothing to add", "cut", "as it is")) > 0
    compare(config, with_answers(spoil(job, stream, seed), seed, 0.3), seed)
    compare(config, with_answers(misname(job, stream, seed), seed, 0.3), seed)


def test_maps_of_sixty_four_packets(met: Counter[str]) -> None:
    job = Job(size=3, lengths=(1, 100, 100, 100), message_packets=100, mtu=256, irn=True)
    compare(config_of(job), with_answers(mark(record(job, 1, 0.05), 1), 1, 0.3), 1)
    assert met["full"] > 20
    assert met["in a longer frame"]


def test_rings_of_both_address_families_side_by_side(met: Counter[str]) -> None:
    """Frames of one are those of the reference, in between those of the other."""
    one = Job(lengths=(1, 4, 4, 4), irn=True)
    two = Job(lengths=(1, 4, 4, 4), ipv6=True, ring_id=9, base_qpn=0x200, window=1, seed=5, irn=True)
    draw = random.Random(4)
    parts = [with_answers(record(job, seed, 0.1), seed) for seed, job in enumerate((one, two))]
    mixed: Stream = []
    while any(parts):
        mixed.append(draw.choice([part for part in parts if part]).pop(0))
    compare(config_of(one, two), mixed, 1)
    assert met["added to"] > 20


def test_only_rings_of_irn_held_add_to_maps(met: Counter[str]) -> None:
    """Two rings on the same hosts; answers say by addresses alone whose they are, and PSNs decide."""
    one = Job(lengths=(1, 4, 4, 4), irn=True)
    two = Job(lengths=(1, 2, 2, 2), message_packets=2, ring_id=9, base_qpn=0x200, seed=5, irn=True, start_psn=0x8000)
    both = config_of(one, two)
    mixed = [frame for pair in zip(record(one, 1, 0.1), record(two, 2, 0.1), strict=False) for frame in pair]
    stream = with_answers(mixed, 1)
    compare(both, stream, 1)
    added = met["added to"]
    met.clear()
    compare(replace(both, rings=(replace(both.rings[0], tells_held=False), both.rings[1])), stream, 1)
    assert 0 < met["added to"] < added


@pytest.mark.parametrize(
    ("seed", "overrides"),
    [
        (1, ()),
        (2, ("job.dtype=int32", "job.op=max", "transport.start_psn=16777200")),
        (3, ("transport.start_psn=16777150", "job.message_packets=30", "job.size=200kB")),
        (4, ("topology.multipath=spray", LATE)),
        (5, (TWICE,)),
        (6, (DAMAGED,)),
    ],
)
def test_leaves_and_spines_do_the_same(seed: int, overrides: tuple[str, ...], met: Counter[str]) -> None:
    """Answers as their hosts sent them, and others in between."""
    counted: Counter[str] = Counter()
    for config, stream in streams(seed, *overrides, "transport.recovery=irn-held"):
        counted += compare(config, stream, seed)
        met.clear()
        compare(config, with_answers(stream, seed, 0.2), seed)
        assert min(met[name] for name in ("added to", "nothing to add", "cut", "as it is")) > 0
        assert bool(met["up"]) == config.name.startswith("leaf")
    for name in ("results_out", "sent_up", "bypassed"):
        assert counted[name], f"the schedule met no {name}"


def test_values_that_come_down_another_way(met: Counter[str]) -> None:
    """What came from one spine says nothing about the answers that go up to another."""
    for config, stream in streams(7, "transport.recovery=irn-held"):
        links = config.rings[0].links
        if isinstance(links, LeafLinks):
            here, there = links.uplinks
            astray = [(there if port == here else port, frame) for port, frame in stream]
            compare(config, with_answers(astray, 7, 0.2), 7)
    assert met["no newest"] > 20


def handed_back(config: SwitchConfig, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What the compiled loop leaves to the reference."""
    found: list[bytes] = []
    slow = NetReduceProgram.receive_frame

    def ask(self: NetReduceProgram, port: int, frame: bytes, now: int) -> None:
        found.append(bytes(frame))
        slow(self, port, frame, now)

    monkeypatch.setattr(NetReduceProgram, "receive_frame", ask)
    program, batch = fast(config), FrameBatch.of(len(stream), max(len(frame) for _, frame in stream))
    for port, frame in stream:
        batch.append(port, frame)
    program.receive_batch(batch, 0)
    return found


def test_maps_and_nearly_all_data_stay_in_the_compiled_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    for config, stream in streams(1, "transport.recovery=irn-held", "faults.0.rate=1%"):
        assert sum(map_in(frame) is not None for _, frame in stream)
        with monkeypatch.context() as patch:
            back = handed_back(config, stream, patch)
        assert not [frame for frame in back if map_in(frame) is not None]
        assert len(back) < 0.1 * len(stream)


def test_answers_find_room_however_small_the_queue() -> None:
    """Those that go where a plain switch sends them, and those that go up."""
    for config, stream in streams(1, "transport.recovery=irn-held", "job.size=20kB"):
        reference, quick = NetReduceProgram(config), fast_netreduce(config)
        for port, frame in with_answers(stream, 1, 0.2):
            if map_in(frame) is not None:
                quick.inner._queue._allocate(8, 1)
            for program in (reference, quick):
                program.receive_frame(port, frame, 0)
            assert list(quick.frames_to_send(0)) == [(out, bytes(left)) for out, left in reference.frames_to_send(0)]
