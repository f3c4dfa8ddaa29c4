"""The hardware as a card of a lab: its bus, its Machine, what it reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from switch_nodes.events import MessageAggregated, SlotsAtEnd
from switch_nodes.fpga.conversion import FPGA_PROGRAM, as_registers_say
from switch_nodes.fpga.driver import CardDriver
from switch_nodes.fpga.events import CardCommanded
from switch_nodes.fpga.golden import reference_outputs
from switch_nodes.fpga.regmap import REGISTERS
from switch_nodes.fpga.rtl.card import RtlCard
from switch_nodes.fpga.rtl.simulation.library import SimulatedCard
from switch_nodes.fpga.transport import StepClock
from workloads.errors import InternalError


class _Bus:
    """A transport on the card's bus."""

    max_bytes = 1024

    def __init__(self, card: RtlCard) -> None:
        self._card = card

    def read(self, address: int, size: int) -> bytes:
        return self._card.read(address, size, 0)

    def write(self, address: int, data: bytes) -> None:
        self._card.write(address, data, 0)


def _told(card):
    events = []
    while (event := card.next_event()) is not None:
        events.append(event)
    return events


@pytest.fixture
def running(library, trace):
    """(card, its driver, frames, frames that must come out) of a rack, started."""
    config, inputs = trace("rack-lossy")
    card, clock = RtlCard(SimulatedCard(library, bitstream_hash=bytes(range(32))), 8), StepClock()
    driver = CardDriver(_Bus(card), card="c", clock=clock, sleep=clock.sleep)
    wired = replace(as_registers_say(config), program=FPGA_PROGRAM, ports=8, flood_ports=tuple(range(config.ports)))
    driver.configure(wired)
    driver.start()
    return card, driver, inputs, reference_outputs(config, inputs)


def test_frames_come_out_in_slices_while_the_registers_answer(running):
    card, driver, inputs, expected = running
    assert card.get_timer() is None
    for item in inputs:
        card.receive_frame(item.port, item.frame, 5)
    assert card.get_timer() == 5
    slices, found, now = 0, [], 5
    while card.get_timer() is not None:
        card.handle_timer(now)
        found += [(port, bytes(frame)) for port, frame in card.frames_to_send(now)]
        if slices == 3:
            assert driver.words.word("PORTS") == 8
        slices, now = slices + 1, now + 1
    assert slices > len(inputs) // 20, "frames went through in one go"
    by_port = [[frame for port, frame in found if port == wanted] for wanted in range(8)]
    assert by_port == [[item.frame for item in expected if item.port == wanted] for wanted in range(8)]


def test_it_reports_commands_sums_and_slots(running):
    card, driver, inputs, _ = running
    assert [(event.command, event.failure) for event in _told(card)] == [
        ("discard", "none"), ("apply", "none"), ("start", "none"),
    ]  # fmt: skip
    for item in inputs:
        card.receive_frame(item.port, item.frame, 0)
    while card.get_timer() is not None:
        card.handle_timer(0)
        list(card.frames_to_send(0))
    driver.stop()
    card.finish(0)
    kinds = Counter(type(event) for event in _told(card))
    assert kinds[MessageAggregated] > 2
    assert (kinds[SlotsAtEnd], kinds[CardCommanded]) == (1, 1)
    assert driver.counters()["frames_in"] == len(inputs)


def test_a_refused_command_is_reported_as_refused(library):
    card = RtlCard(SimulatedCard(library), 8)
    control = REGISTERS["CONTROL"].address
    card.write(control, (3 | 0xFFFC << 16).to_bytes(4, "little"), 0)
    card.write(control, bytes(4), 0)
    assert _told(card) == [CardCommanded("start", "not_configured"), CardCommanded("0x00000000", "unknown_command")]


@pytest.mark.parametrize(("address", "size"), [(2, 4), (0, 3), (0, 0), (0xFFFFFFFC, 8)])
def test_accesses_that_are_not_whole_words_are_refused(address, size):
    card = RtlCard(_Stuck(), 2)
    with pytest.raises(ValueError, match="are not whole words"):
        card.read(address, size, 0)
    with pytest.raises(ValueError, match="are not whole words"):
        card.write(address, bytes(size), 0)


class _Stuck:
    """A simulated card from which nothing ever comes."""

    wrong_beats = 0

    def push(self, port, frame):
        pass

    def run(self, limit):
        return False

    def happenings(self):
        return iter(())

    emitted = happenings


def test_hardware_that_is_stuck_is_named():
    card = RtlCard(_Stuck(), 2)
    card.receive_frame(0, b"frame", 0)
    for now in range(500):
        card.handle_timer(now)
    with pytest.raises(InternalError, match="is stuck: nothing came out for 2,0"):
        card.handle_timer(500)


def test_beats_that_break_a_rule_are_named():
    broken = _Stuck()
    broken.wrong_beats = 1
    card = RtlCard(broken, 2)
    card.receive_frame(0, b"frame", 0)
    with pytest.raises(InternalError, match="AXI4-Stream does not allow"):
        card.handle_timer(0)
