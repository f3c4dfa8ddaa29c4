"""The compiled path of leaves and spines against the reference, fed with what entered each switch of a faulty
fabric."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.netreduce import NetReduceProgram
from switch_nodes.tap import Tap
from testbed.plan import make_plan
from testbed.scenario import load_scenario, parse_scenario
from testbed.worlds.simulated.world import Simulation
from tests.support.native import needs_native
from tests.switch_nodes.netreduce.test_fast import Stream, compare
from workloads.wire import icrc_of

pytestmark = needs_native("switch_programs")


class Kept(Tap):
    """A tap that keeps what enters."""

    def __init__(self) -> None:
        self.stream: Stream = []

    def record(self, batch, start, stop, now, outgoing):  # type: ignore[no-untyped-def]
        if not outgoing:
            self.stream += [(int(batch.ports[row]), bytes(batch.row(row))) for row in range(start, stop)]

    def dropped(self, port, frame, now, outgoing, reason):  # type: ignore[no-untyped-def]
        pass

    def trimmed(self, port, frame, now):  # type: ignore[no-untyped-def]
        pass

    def close(self) -> None:
        pass


def streams(seed: int, *overrides: str) -> list[tuple[SwitchConfig, Stream]]:
    words = ["job.size=60kB", "job.message_packets=8", "faults.0.rate=4%", *overrides]
    plan = make_plan(replace(load_scenario("spine-leaf-lossy", words, world="simulated"), seed=seed))
    taps = {config.name: Kept() for config in plan.switches}
    Simulation(plan, lambda record: None, taps, create=NetReduceProgram, native=False).run()  # type: ignore[arg-type]
    return [(config, taps[config.name].stream) for config in plan.switches]


@pytest.mark.parametrize(
    ("seed", "overrides"),
    [
        (1, ()),
        (2, ("switch.release=asap", "job.dtype=int32", "job.op=max")),
        (3, ("job.op=xor", "transport.verb=send")),
        (4, ("transport.recovery=irn",)),
    ],
)
def test_leaves_and_spines_do_the_same(seed: int, overrides: tuple[str, ...]) -> None:
    counted: Counter[str] = Counter()
    for config, stream in streams(seed, *overrides):
        assert stream
        counted += compare(config, stream, seed)
    for name in ("results_out", "sent_up", "replayed", "duplicate", "inferred"):
        assert counted[name], f"the schedule met no {name}"


_TO_HEADER, _ICRC = 14 + 20 + 8 + 12 + 16, 4
"""bytes before the INA header of a FIRST, and of the iCRC"""


@pytest.mark.parametrize("byte", [14, 15], ids=["rank", "size"])
def test_the_upper_half_of_a_number_counts(byte: int) -> None:
    """Ring of 264, and packets of ranks from 256 on whose headers lose that half after some messages."""
    topology = "{kind: spine_leaf, leaves: 9, spines: 1, hosts_per_leaf: [32, 32, 32, 32, 32, 32, 32, 32, 8]}"
    job = "{size: 16kB, message_packets: 2, window_messages: 8}"
    plan = make_plan(parse_scenario(f"name: wide\nworld: simulated\ntopology: {topology}\njob: {job}\n", "wide"))
    taps = {config.name: Kept() for config in plan.switches}
    Simulation(plan, lambda record: None, taps, create=NetReduceProgram, native=False).run()  # type: ignore[arg-type]
    (config,) = [each for each in plan.switches if each.name == "leaf9"]
    right = taps["leaf9"].stream
    wrong = [(port, _without(frame, _TO_HEADER + byte)) for port, frame in right]
    assert sum(before != after for before, after in zip(right, wrong, strict=True)) >= 8
    assert compare(config, wrong, 1)["sent_up"] < compare(config, right, 1)["sent_up"]


def _without(frame: bytes, at: int) -> bytes:
    """With a byte of the INA header 0, in messages from the third on of ranks from 256 on."""
    header, changed = frame[_TO_HEADER : _TO_HEADER + 16], bytearray(frame)
    if header[:2] == b"\xa7\x01" and header[14] and int.from_bytes(header[8:12], "big") >= 2:
        changed[at] = 0
        changed[-_ICRC:] = icrc_of(changed[14:-_ICRC])
    return bytes(changed)


def test_most_frames_of_a_leaf_are_taken_by_the_compiled_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two slots' worth of hosts, uplinks and values, and only what the loop hands back comes to Python."""
    from tests.switch_nodes.netreduce.test_fast import fast
    from workloads.machine import FrameBatch

    config, stream = streams(1, "faults.0.rate=0.1%")[0]
    quick, handed_back = fast(config), []
    monkeypatch.setattr(
        quick,
        "receive_frame",
        lambda *words: handed_back.append(words) or NetReduceProgram.receive_frame(quick, *words),
    )
    batch = FrameBatch.of(len(stream), max(len(frame) for _, frame in stream))
    for port, frame in stream:
        batch.append(port, frame)
    quick.receive_batch(batch, 0)
    assert len(handed_back) < 0.05 * len(stream)
    assert np.count_nonzero(quick.rings[1].done)
