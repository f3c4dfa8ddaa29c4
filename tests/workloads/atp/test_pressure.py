"""Which layer a packet tells the priority of."""

from __future__ import annotations

from dataclasses import replace

from tests.support.atp_star import atp_workers
from workloads.atp.pressure import Pressure
from workloads.config import ComputeConfig, LayerConfig
from workloads.hosts import create_host

BLOCK, LAYERS = 8, 8


def test_the_layer_is_that_of_the_packets_elements() -> None:
    """Floats travel two packets behind their exponents here: packet 2 has the elements of block 0, of the last layer."""
    (config,) = atp_workers(1, kind="esa", elements=BLOCK * LAYERS, block=BLOCK, window=2, priority="layer")
    compute = ComputeConfig(tuple(LayerConfig(BLOCK, 0, 0) for _ in range(LAYERS)))
    config = replace(config, workload=replace(config.workload, compute=compute))
    pressure = create_host(config)._pressure  # type: ignore[attr-defined]
    assert isinstance(pressure, Pressure)
    whole = [pressure.priority(packet, 0) for packet in range(LAYERS)]
    assert whole == sorted(set(whole)), "the nearer to the input, the more urgent"
    assert [pressure.priority(packet, 2) for packet in range(LAYERS + 2)] == [whole[0], whole[0], *whole]
