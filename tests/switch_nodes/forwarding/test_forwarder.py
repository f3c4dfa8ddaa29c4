"""A plain switch does on the compiled path what it does by its verbs."""

from __future__ import annotations

import random
from typing import Any

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.forwarding.fast import create_forward
from workloads.quick import quick_of

MACS = [bytes((2, 0, 0, 0, 0, number)) for number in range(8)]
OTHERS = [b"\xff" * 6, bytes.fromhex("0180c200000e"), bytes.fromhex("01005e000001")]
IPV4 = b"\x08\x00" + bytes.fromhex("4500003000004000401100000a4d00020a4d0003")


@pytest.mark.parametrize("spray", [False, True])
@pytest.mark.parametrize("create", [ForwardProgram, create_forward])
def test_it_takes_the_same_ways(create: Any, spray: bool) -> None:
    draw = random.Random(spray)
    config = SwitchConfig(
        "s1", "forward", 5, tuple((mac, port) for port, mac in enumerate(MACS[:3])), groups=((MACS[3], (1, 2, 4)),),
        flood_ports=(0, 1, 2, 3), spray=spray, flow_salt=7,
    )  # fmt: skip
    reference, ours = ForwardProgram(config), create(config)
    quick: Any = quick_of(ours)
    for now in range(2000):
        destination, source = (draw.choice(MACS + OTHERS) for _ in range(2))
        frame = (destination + source + IPV4 + draw.randbytes(2) + bytes(30))[: draw.choice((100, 100, 100, 13, 40))]
        port = draw.randrange(5)
        reference.receive_frame(port, frame, now)
        quick.take(port, frame, now)
        assert list(quick.outbox) == list(reference.frames_to_send(now))
        quick.outbox.clear()
    assert ours.counters == reference.counters
    assert min(ours.counters.values()) > 10


def test_a_subclass_goes_by_its_verbs() -> None:
    """It may count, forward or give out in its own way."""

    class Counts(ForwardProgram):
        def emit(self, port: int, frame: Any) -> None:
            self.count("emitted")
            super().emit(port, frame)

    assert quick_of(Counts(SwitchConfig("s1", "forward", 2))) is None
