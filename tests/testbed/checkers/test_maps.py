"""Rule 6 for the maps of `irn-held`: a switch may add bits and cut a map, and nothing else of an answer changes."""

from __future__ import annotations

import pytest

from testbed.checkers.rules import Sighting, Violations
from testbed.checkers.rules_switch import SwitchRules
from workloads.rc.captured import parse_frame
from workloads.wire import Aeth, Bth, Envelope, Nak, Opcode, Packet, Sack, encode_packet
from workloads.wire.held_map import HeldMap

THERE = Envelope(bytes(5) + b"\1", bytes(5) + b"\2", bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
CAME = HeldMap(0xFFFFFF, 4, 0b1001, 3)


def passage(left: HeldMap, *, expected: int = 0xFFFFFF, spoilt: bool = False) -> list[str]:
    """What is wrong when that map leaves where `CAME` entered."""
    violations = Violations()
    rules = SwitchRules(violations, aggregates=lambda connection: True, is_stale=lambda connection, psn: False)
    for held, cumulative, step in ((CAME, 0xFFFFFF, rules.entered), (left, expected, None)):
        raw = encode_packet(
            Packet(
                THERE, Bth(Opcode.IRN_ANSWER, 7, 3), held.encode(), aeth=Aeth(Nak.PSN_SEQUENCE, 1),
                sack=Sack(cumulative, 3),
            )
        )  # fmt: skip
        if spoilt and step is None:
            raw = raw[:-1] + bytes((raw[-1] ^ 1,))
        frame = parse_frame(raw)
        assert frame is not None
        if step is not None:
            step(frame, hash(frame.payload), Sighting({}))
        else:
            rules.left(frame, hash(frame.payload), raw, Sighting({}))
    rules.finish()
    return violations.texts


@pytest.mark.parametrize(
    "left", [CAME, CAME._replace(bits=0b1111), CAME._replace(newest=9), CAME._replace(packets=2, bits=0b11)]
)
def test_what_a_switch_may_do(left):
    assert passage(left) == []


@pytest.mark.parametrize(
    "left",
    [CAME._replace(bits=0b1000), CAME._replace(packets=5), CAME._replace(packets=2, bits=0b10),
     CAME._replace(first=0)],
    ids=["a bit less", "a packet more", "a bit less in what is left", "other packets"],
)  # fmt: skip
def test_what_it_may_not(left):
    [wrong, *_] = passage(left)
    assert wrong.startswith("rule 6")


def test_the_rest_of_the_answer_stays():
    [wrong, *_] = passage(CAME, expected=0)
    assert wrong.startswith("rule 6")


def test_the_icrc_is_right():
    [wrong, *_] = passage(CAME, spoilt=True)
    assert wrong.startswith("rule 1")


def test_the_parts_of_a_map():
    packet = Packet(
        THERE, Bth(Opcode.IRN_ANSWER, 7, 3), CAME.encode(), aeth=Aeth(Nak.PSN_SEQUENCE, 1), sack=Sack(0xFFFFFF, 3)
    )
    frame = parse_frame(encode_packet(packet))
    assert frame is not None
    assert frame.held == (0xFFFFFF, 4, 0b1001, 3)
