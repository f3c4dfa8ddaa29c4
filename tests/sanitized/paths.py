"""The compiled paths, each with a node of a real scenario in front: mutants go in, and counts say how far they got."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from switch_nodes.forwarding.fast import FastForwardProgram
from switch_nodes.netreduce import FastNetReduceProgram
from switch_nodes.registry import create_program
from switch_nodes.steering.fast import FastSteerProgram
from testbed.faults.link_filter import LinkFilter
from testbed.plan.filters import make_filters
from testbed.worlds.simulated.native.agenda import NativeAgenda
from testbed.worlds.simulated.native.wire import NativeWire
from testbed.worlds.simulated.world import Simulation
from tests.sanitized.environment import poison, unpoison
from tests.sanitized.mutants import LONGEST, Mutator, Stream
from tests.sanitized.streams import plan_of, streams_of
from workloads.hosts import create_host
from workloads.machine import FrameBatch
from workloads.rc import RcEndpoint
from workloads.worker import WorkerMachine

__all__ = ["PATHS", "Path", "run_chunk"]

_ROWS = 256
_STRIDES = ((0.4, 0), (0.4, 17), (0.1, 3000), (0.05, 9001), (0.05, LONGEST))
"""(share, bytes of a row); small ones: beyond the longest frame of the stream"""
_BATCHES = 48
"""of one chunk"""
_INJECTED = 2000
"""mutants of one run of the event loop, and some more"""
_VALID = (0.0, 0.02, 0.3, 0.8)
"""shares of changed packets with a good iCRC, one for each chunk"""
_ASKS = 16
"""of changed frames that C hands back, the reference takes one in so many; it takes all others"""
_BURST = 24
"""mutants of one injection into the event loop"""

Feed = Callable[[FrameBatch, NDArray[np.bool_], np.random.Generator, Counter[str]], bool]
"""returns whether it began anew, and wants the first frames again"""
Path = Callable[[np.random.Generator, Counter[str]], None]


def _stride(rng: np.random.Generator, longest: int) -> int:
    shares, sizes = zip(*_STRIDES, strict=True)
    size = int(rng.choice(sizes, p=shares))
    return min(size + longest, LONGEST) if size < 9000 else size


def _batches(stream: Stream, feed: Feed, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Batches of mutants; whoever reads behind the end of a frame, into the rest of its row, is told on."""
    mutator = Mutator(stream, rng, float(rng.choice(_VALID)))
    for _ in range(_BATCHES):
        batch = FrameBatch.of(_ROWS, _stride(rng, mutator.longest))
        changed = mutator.fill(batch)
        counts["frames"] += int(changed.sum())
        counts["real"] += int((~changed).sum())
        start = batch.frames.ctypes.data
        for row, length in enumerate(batch.lengths.tolist()):
            poison(start + row * batch.stride + length, batch.stride - length)
        try:
            if feed(batch, changed, rng, counts):
                mutator.rewind()
        finally:
            unpoison(start, batch.frames.size)


def _switch(program: Any, step: Callable[[FrameBatch, int], tuple[int, str]], now: Callable[[], int]) -> Feed:
    """Rows through `step`, which says the next row and who has to act: `python`, `room`, or nobody."""
    out = FrameBatch.of(64, LONGEST + 64)

    def feed(batch: FrameBatch, changed: NDArray[np.bool_], rng: np.random.Generator, counts: Counter[str]) -> bool:
        row = 0
        while row < batch.count:
            after, what = step(batch, row)
            counts["taken by C"] += int(changed[row:after].sum())
            row = after
            if what == "python" and row < batch.count:
                counts["left to Python"] += int(changed[row])
                if not changed[row] or not rng.integers(_ASKS):
                    program.receive_frame(int(batch.ports[row]), batch.row(row), now())
                row += 1
            elif what == "room":
                counts["grown"] += 1
        while True:
            out.count = 0
            program.fill_batch(out, now())
            counts["sent"] += out.count
            if not out.count:
                break
        while program.next_event() is not None:
            counts["told"] += 1
        return False

    return feed


def _absorb(scenario: str, node: str) -> Path:
    def run(rng: np.random.Generator, counts: Counter[str]) -> None:
        config = next(config for config in plan_of(scenario).switches if config.name == node)
        program = create_program(config)
        assert isinstance(program, FastNetReduceProgram)

        def step(batch: FrameBatch, row: int) -> tuple[int, str]:
            frames, stride, lengths, ports = batch.addresses
            row = program._absorb(program._pointer, frames, stride, lengths, ports, row, batch.count)
            why = program._struct.why
            program.catch_up()
            return row, ("", "python", "room", "log")[why]

        _batches(streams_of(scenario)[node], _switch(program, step, lambda: 0), rng, counts)
        counts["messages summed"] += program.counters.get("aggregated", 0)
        for name in ("results_out", "duplicate", "replayed", "bypassed", "sent_up"):
            counts[name] += program.counters[name]

    return run


def _between(stream: Stream, static: Mapping[bytes, int]) -> Stream:
    """The frames of other hosts, between ours."""
    macs = {port: mac for mac, port in static.items()}
    ports = sorted(macs)
    found = []
    for frame, port in zip(stream.frames, stream.ports, strict=True):
        found.append(macs[ports[(port + 1) % len(ports)]] + macs[ports[port % len(ports)]] + frame[12:])
    return Stream(found, [ports[port % len(ports)] for port in stream.ports])


def _forward(scenario: str, node: str, heard_in: str) -> Path:
    """The switch of one scenario, and what one of that name hears in another."""

    def run(rng: np.random.Generator, counts: Counter[str]) -> None:
        config = next(config for config in plan_of(scenario).switches if config.name == node)
        program = create_program(config)
        asked = ctypes.c_int32(0)
        if isinstance(program, FastSteerProgram):
            tables: tuple[int, ...] = (program._pointer, program._static.pointer)
        else:
            assert isinstance(program, FastForwardProgram)
            tables = (program._static.pointer,)

        def step(batch: FrameBatch, row: int) -> tuple[int, str]:
            frames, stride, lengths, ports = batch.addresses
            row = program._rows(
                *tables,
                program._queue.pointer,
                frames,
                stride,
                lengths,
                ports,
                row,
                batch.count,
                ctypes.addressof(asked),
            )
            if row < batch.count and not asked.value:
                program._queue.make_room(1, batch.stride)
                return row, "room"
            return row, "python"

        stream = streams_of(heard_in)[node]
        if heard_in != scenario:
            stream = _between(stream, program.macs.static)
        _batches(stream, _switch(program, step, lambda: 0), rng, counts)
        if isinstance(program, FastSteerProgram):
            program._settle()
            for name in ("steered", "withheld"):
                counts[name] += program.counters[name]

    return run


def _rc(scenario: str, node: str) -> Path:
    def run(rng: np.random.Generator, counts: Counter[str]) -> None:
        config = next(config for config in plan_of(scenario).workers if config.name == node)
        clock, out = 0, FrameBatch.of(64, LONGEST)

        def employ() -> tuple[WorkerMachine, Any]:
            machine = create_host(config, 0)
            assert isinstance(machine, WorkerMachine)
            assert isinstance(machine.endpoint, RcEndpoint)
            assert machine.endpoint._fast is not None
            machine.handle_timer(clock)
            return machine, machine.endpoint._fast

        machine, fast = employ()

        def feed(batch: FrameBatch, changed: NDArray[np.bool_], rng: np.random.Generator, counts: Counter[str]) -> bool:
            nonlocal clock, machine, fast
            row = 0
            while row < batch.count:
                out.count = 0
                machine.fill_batch(out, clock)
                counts["sent"] += out.count
                after = fast.accept(batch, row, clock)
                counts["taken by C"] += int(changed[row:after].sum())
                counts["real, taken by C"] += int((~changed[row:after]).sum())
                row = after
                if row < batch.count:
                    counts["left to Python"] += int(changed[row])
                    if not changed[row] or not rng.integers(_ASKS):
                        machine.receive_frame(0, batch.row(row), clock)
                    row += 1
                machine.after_news(clock)
                clock += 10_000
            machine.handle_timer(clock)
            told = Counter(type(event).__name__ for event in iter(machine.next_event, None))
            counts["completed"] += told["CollectiveCompleted"]
            if told["WorkerFailed"] or told["WorkerFinished"]:
                counts["begun anew"] += 1
                machine, fast = employ()
                return True
            return False

        _batches(streams_of(scenario)[node], feed, rng, counts)

    return run


def _filter(scenario: str, node: str) -> Path:
    def run(rng: np.random.Generator, counts: Counter[str]) -> None:
        found = make_filters(plan_of(scenario), node)
        filters = [one for side in found for one in side.values() if isinstance(one, LinkFilter)]
        assert filters
        clock = [0]

        def feed(batch: FrameBatch, changed: NDArray[np.bool_], rng: np.random.Generator, counts: Counter[str]) -> bool:
            one = filters[int(rng.integers(len(filters)))]
            native = one._native
            assert native is not None
            passes = native.screen(batch, 0, clock[0])
            clock[0] += 50_000
            counts["taken by C"] += int((passes & changed).sum())
            for row in np.flatnonzero(~passes).tolist():
                counts["left to Python"] += int(changed[row])
                deliveries = one.admit(bytes(batch.row(row)), clock[0])
                counts["struck and lost"] += not deliveries
            while one.next_event() is not None:
                counts["told"] += 1
            return False

        _batches(streams_of(scenario)[node], feed, rng, counts)

    return run


def _loop(scenario: str) -> Path:
    """The whole event loop: mutants join the real frames on wires, and pass filters, switches and hosts behind them."""

    def run(rng: np.random.Generator, counts: Counter[str]) -> None:
        told: Counter[str] = Counter()
        simulation = Simulation(plan_of(scenario), lambda record: told.update([record.name]))
        agenda, streams, budget = simulation.agenda, streams_of(scenario), [_INJECTED]
        assert isinstance(agenda, NativeAgenda)
        valid = float(rng.choice(_VALID))
        wires: list[tuple[NativeWire, Mutator]] = []
        for number, name in enumerate(simulation.nodes):
            for wire in agenda.wires:
                assert isinstance(wire, NativeWire)
                if wire._struct.to_node == number and name in streams:
                    stream = streams[name]
                    there = [i for i, port in enumerate(stream.ports) if port == wire._struct.to_port] or [0]
                    part = Stream([stream.frames[i] for i in there], [wire._struct.to_port] * len(there))
                    wires.append((wire, Mutator(part, rng, valid)))

        def inject(_: object) -> None:
            wire, mutator = wires[int(rng.integers(len(wires)))]
            batch = FrameBatch.of(_BURST, _stride(rng, mutator.longest))
            changed = mutator.fill(batch)
            for row in np.flatnonzero(changed).tolist():
                outcome = wire.send(bytes(batch.row(row)))
                counts[outcome or "on the wire"] += 1
                counts["frames"] += 1
                budget[0] -= 1
            if budget[0] > 0:
                agenda.at(agenda.now + int(rng.integers(1_000, 100_000)), 0, inject)

        agenda.at(1, 0, inject)
        simulation.run()
        counts["hops"] += simulation.packet_hops
        counts.update({f"told {event}": number for event, number in told.items() if event in _INTERESTING})

    return run


_INTERESTING = (
    "FaultStruck",
    "PacketIgnored",
    "MessageAggregated",
    "CollectiveCompleted",
    "WorkerFailed",
    "BlockAggregated",
)

PATHS: dict[str, Path] = {
    "absorb": _absorb("rack-lossy", "s1"),
    "absorb jumbo": _absorb("rack-jumbo", "s1"),
    "absorb int32": _absorb("rack-int32", "s1"),
    "absorb leaf": _absorb("spine-leaf-lossy", "leaf1"),
    "absorb spine": _absorb("spine-leaf-lossy", "spine1"),
    "absorb irn": _absorb("irn-lossy", "s1"),
    "absorb irn-held": _absorb("irn-lossy transport.recovery=irn-held", "s1"),
    "absorb irn-held leaf": _absorb("irn-held-spine-leaf-lossy", "leaf2"),
    "absorb irn-held spine": _absorb("irn-held-spine-leaf-lossy", "spine2"),
    "absorb accelerator": _absorb("accelerator-lossy", "a1"),
    "forward": _forward("ring", "s1", "ring"),
    "forward groups": _forward("spine-leaf-ring-lossy", "leaf1", "spine-leaf-ring-lossy"),
    "forward datagrams": _forward("ring", "s1", "atp-lossy"),
    "steer": _forward("accelerator-lossy", "s1", "accelerator-lossy"),
    "rc": _rc("rack-lossy", "h1"),
    "rc jumbo": _rc("rack-jumbo", "h2"),
    "rc ring": _rc("ring", "h3"),
    "rc irn": _rc("irn-lossy", "h1"),
    "rc irn ring": _rc("irn-ring-lossy", "h2"),
    "rc irn-held": _rc("irn-held-spine-leaf-lossy", "h1"),
    "rc irn-held boundary": _rc("irn-held-spine-leaf-lossy", "h3"),
    "filter": _filter("rack-lossy", "s1"),
    "filter bursts": _filter("rack-bursty", "s1"),
    "filter datagrams": _filter("switchml-lossy", "s1"),
    "filter atp": _filter("atp-lossy", "s1"),
    "filter esa": _filter("esa-lossy", "s1"),
    "filter grid": _filter("grid-lossy", "s1"),
    "loop rack": _loop("rack-lossy"),
    "loop spine-leaf": _loop("spine-leaf-lossy"),
    "loop ring": _loop("ring"),
    "loop accelerator": _loop("accelerator-lossy"),
    "loop irn": _loop("irn-lossy"),
    "loop irn spine-leaf": _loop("irn-spine-leaf-lossy"),
    "loop irn-held": _loop("irn-held-spine-leaf-lossy"),
    "loop switchml": _loop("switchml-lossy"),
    "loop atp": _loop("atp-lossy"),
    "loop esa": _loop("esa-lossy"),
    # GRID has no compiled loop; its filters are above
}
"""name -> one chunk of it"""


def run_chunk(path: str, seed: int, chunk: int) -> Counter[str]:
    """The same frames for the same three. Counts of what became of them."""
    counts: Counter[str] = Counter()
    PATHS[path](np.random.default_rng([seed, chunk, *path.encode()]), counts)
    return counts
