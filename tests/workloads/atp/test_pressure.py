"""Which layer a packet tells the priority of, and what times and bytes its rule is told."""

from __future__ import annotations

from dataclasses import replace

from tests.support.atp_star import atp_workers
from workloads.atp.pressure import Pressure
from workloads.datagrams.priority import quantise
from workloads.gradients import create_source
from workloads.hosts import create_host
from workloads.layers import ComputeConfig, LayerConfig

BLOCK, LAYERS = 8, 8


def pressure_of(priority: str, *, layers: tuple[LayerConfig, ...] = (), x0: float = 1e-3) -> Pressure:
    """Of a job of 30 elements and 4 iterations."""
    (config,) = atp_workers(1, kind="esa", elements=30, iterations=4, priority=priority, priority_x0=x0)
    compute = ComputeConfig(layers) if layers else None
    config = replace(config, workload=replace(config.workload, compute=compute))
    return Pressure(config, create_source(config.workload, 0, 1, "int32"))


def test_the_layer_is_that_of_the_packets_elements() -> None:
    """Floats travel two packets behind their exponents here: packet 2 has the elements of block 0, of the last
    layer."""
    (config,) = atp_workers(1, kind="esa", elements=BLOCK * LAYERS, block=BLOCK, window=2, priority="layer")
    compute = ComputeConfig(tuple(LayerConfig(BLOCK, 0, 0) for _ in range(LAYERS)))
    config = replace(config, workload=replace(config.workload, compute=compute))
    pressure = create_host(config)._pressure  # type: ignore[attr-defined]
    assert isinstance(pressure, Pressure)
    whole = [pressure.priority(packet, 0) for packet in range(LAYERS)]
    assert whole == sorted(set(whole)), "the nearer to the input, the more urgent"
    assert [pressure.priority(packet, 2) for packet in range(LAYERS + 2)] == [whole[0], whole[0], *whole]


def test_without_layers_a_gradient_is_one_and_what_is_not_communication_is_computing() -> None:
    assert [pressure_of("layer", x0=1.0).priority(packet) for packet in (0, 3)] == [16, 16]
    pressure = pressure_of("comm")
    for start, end in ((1_000, 5_000), (6_500, 7_000)):
        pressure.start(start)
        pressure.priority(0)
        pressure.complete(end)
    pressure.start(7_200)
    assert pressure.priority(0) == quantise(500 / 200, 1e-3)


def test_with_layers_computing_takes_what_they_take() -> None:
    pressure = pressure_of("comm", layers=(LayerConfig(10, 100, 200), LayerConfig(20, 300, 400)))
    pressure.start(1_000)
    pressure.complete(5_000)
    pressure.start(9_000)
    assert pressure.priority(0) == quantise(4_000 / 1_000, 1e-3)


def test_bytes_are_counted_by_whole_iterations() -> None:
    served, remaining = [], []
    for rule, found in (("las", served), ("srpt", remaining)):
        pressure = pressure_of(rule, x0=1e-4)
        for number in range(4):
            pressure.start(10 * number)
            found.append(pressure.priority(0))
            pressure.complete(10 * number + 5)
            assert pressure.priority(0) == found[-1], "as long as the iteration's packets may leave again"
    assert served == [quantise(1 / size, 1e-4) for size in (1, 120, 240, 360)]
    assert remaining == [quantise(1 / size, 1e-4) for size in (480, 360, 240, 120)]


def test_packets_behind_the_last_block_are_of_the_last_element() -> None:
    """With a window that is larger than the gradient some packets are empty."""
    pressure = pressure_of("layer", layers=(LayerConfig(1, 0, 0), LayerConfig(29, 0, 0)), x0=1.0)
    assert [pressure.priority(packet) for packet in (3, 4, 100)] == [quantise(1, 1.0), *[quantise(2, 1.0)] * 2]
