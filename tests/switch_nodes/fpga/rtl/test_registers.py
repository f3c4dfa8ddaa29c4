"""The registers of the hardware: the rules of the contract that no frame shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.fpga.conversion import as_registers_say, words_of
from switch_nodes.fpga.golden import play, reference_outputs
from switch_nodes.fpga.registers import check_of, doubled
from switch_nodes.fpga.regmap import REGISTERS, Command, Failure, Status
from switch_nodes.fpga.rtl.simulation.library import SimulatedCard
from switch_nodes.fpga.rtl.simulation.playing import bring_up
from switch_nodes.fpga.words import CardWords
from switch_nodes.netreduce.program import NetReduceProgram

_ONES = 0xFFFFFFFF


@pytest.fixture
def card(library):
    made = SimulatedCard(library, bitstream_hash=bytes(range(32)))
    yield made
    made.close()


def _command(words: CardWords, command: int) -> tuple[Failure, str]:
    _await(words)
    words.write("CONTROL", command)
    _await(words)
    return words.failure()


def _await(words: CardWords) -> None:
    for _ in range(20_000):
        if not words.status() & Status.BUSY:
            return
    pytest.fail("the card stays BUSY")


def _stage(words: CardWords, config, changes: dict[str, int]) -> tuple[Failure, str]:
    """Write a configuration with some words changed, and APPLY."""
    assert _command(words, doubled(Command.DISCARD)) == (Failure.NONE, "")
    values = words_of(config) | {REGISTERS[name].address: value for name, value in changes.items()}
    for address, value in values.items():
        words.write_at(address, [value])
    words.write("EXPECTED_CHECK", check_of(values.items()))
    return _command(words, doubled(Command.APPLY))


def _wide(config):
    return replace(as_registers_say(config), flood_ports=tuple(range(config.ports)), ports=8)


def test_what_nothing_is_reads_as_ones_and_cannot_be_written(card):
    words = CardWords(card, "c")
    for name in ("LOAD_SIZE", "MAC200_LOW", "RING7_ID", "RING0_MEMBER60_PORT"):
        address = REGISTERS[name].address
        assert words.read_at(address, 1) == (_ONES,)
        words.write_at(address, [5])
        assert words.failure() == (Failure.NOT_WRITABLE, name)
    words.write("MAGIC", 5)
    assert words.failure() == (Failure.NOT_WRITABLE, "MAGIC")
    assert words.identify() == 2
    assert b"".join(word.to_bytes(4, "big") for word in words.read("BITSTREAM_HASH")) == bytes(range(32))


def test_commands_that_are_refused(card, trace):
    config, _ = trace("rack")
    words = CardWords(card, "c")
    assert _command(words, int(Command.START)) == (Failure.UNKNOWN_COMMAND, "")
    assert _command(words, doubled(Command.ERASE)) == (Failure.UNKNOWN_COMMAND, "")
    assert _command(words, doubled(Command.START)) == (Failure.NOT_CONFIGURED, "")
    words.write("EXPECTED_CHECK", 77)
    assert _command(words, doubled(Command.APPLY)) == (Failure.WRONG_CHECK, "EXPECTED_CHECK")
    assert words.word("COMMANDS") == 4
    assert _stage(words, _wide(config), {}) == (Failure.NONE, "")
    assert _command(words, doubled(Command.START)) == (Failure.NONE, "")
    assert words.status() == Status.PROGRAMMED | Status.CONFIGURED | Status.RUNNING


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RELEASE", 2), ("GATE", 2), ("HAIRPIN", 2), ("FLOOD_ALL", 3), ("FLOOD_PORTS", 1 << 8), ("MAC_COUNT", 65),
        ("RING_COUNT", 5), ("MAC0_HIGH", 1 << 16), ("MAC1_PORT", 8), ("RING0_FAMILY", 5), ("RING0_ROLE", 1),
        ("RING0_MEMBERS", 1), ("RING0_MEMBERS", 9), ("RING0_OP", 3), ("RING0_DTYPE", 3), ("RING0_WINDOW", 0),
        ("RING0_PACKETS", 0), ("RING0_PATH_MTU", 300), ("RING0_PATH_MTU", 4096), ("RING0_MEMBER1_RANK", 2),
        ("RING0_MEMBER2_PORT", 8),
    ],
)  # fmt: skip
def test_a_value_that_a_word_cannot_have_is_refused_with_its_address(card, trace, name, value):
    config, _ = trace("rack")
    words = CardWords(card, "c")
    assert _stage(words, _wide(config), {}) == (Failure.NONE, "")
    before = words.word("ACTIVE_CHECK")
    assert _stage(words, _wide(config), {name: value}) == (Failure.REFUSED_VALUE, name)
    assert (words.word("ACTIVE_CHECK"), words.word("APPLIED")) == (before, 1)


def test_rings_that_need_more_slots_than_there_are(card, trace):
    config, _ = trace("rack")
    words = CardWords(card, "c")
    assert _stage(words, _wide(config), {"RING0_PACKETS": 300}) == (Failure.REFUSED_VALUE, "MAX_SLOTS")


def _full(config):
    """As many rings and addresses as the card has places."""
    rings = tuple(
        replace(config.rings[0], ring_id=number, message_packets=128, window_messages=1) for number in range(1, 5)
    )
    return replace(_wide(config), rings=rings, macs=tuple((bytes([2, 0, 0, 0, 0, at]), at % 8) for at in range(64)))


def test_a_driver_waits_until_a_full_bank_is_applied(card, trace):
    driver = bring_up(card, _full(trace("rack")[0]))
    assert driver.state().status == Status.PROGRAMMED | Status.CONFIGURED | Status.RUNNING


def test_a_bank_with_all_rings_and_addresses_is_applied(card, trace):
    full = _full(trace("rack")[0])
    words = CardWords(card, "c")
    for last in (5, 5, 6):  # the second APPLY changes nothing, the third one ring
        rings = (*full.rings[:3], replace(full.rings[3], ring_id=last))
        assert _stage(words, replace(full, rings=rings), {}) == (Failure.NONE, "")
    assert words.word("APPLIED") == 3


def test_a_card_that_does_not_run_drops_and_counts(card, trace):
    config, inputs = trace("rack")
    driver = bring_up(card, config)
    driver.stop()
    card.push(inputs[0].port, inputs[0].frame)
    assert card.run()
    assert list(card.emitted()) == []
    assert (driver.counters()["not_running"], driver.counters()["frames_in"]) == (1, 1)


def test_reset_is_as_power_on(card, trace):
    config, inputs = trace("rack")
    driver = bring_up(card, config)
    card.push(inputs[0].port, inputs[0].frame)
    assert card.run()
    boots = driver.state().boots
    driver.reset()
    state = driver.state()
    assert (state.boots, state.status, state.applied) == (boots + 1, Status.PROGRAMMED, 0)
    assert not any(driver.counters().values())


def test_a_ring_that_stays_keeps_its_state_across_apply(card, trace):
    """Half of a trace, then another ring in front of it, then the rest: as the reference after `install`."""
    config, inputs = trace("rack-lossy")
    other = replace(config.rings[0], ring_id=config.rings[0].ring_id + 1, message_packets=4, window_messages=1)
    half = len(inputs) // 2
    program = NetReduceProgram(replace(config, program="netreduce"))
    expected = play(program, inputs[:half])
    program.install([other, config.rings[0]])
    expected += play(program, inputs[half:])
    driver = bring_up(card, config)
    found = []
    for number, item in enumerate(inputs):
        if number == half:
            driver.configure(replace(_wide(config), rings=(other, config.rings[0])))
        card.push(item.port, item.frame)
        assert card.run()
        found += [(emitted.port, emitted.frame) for emitted in card.emitted()]
    assert sorted(found) == sorted((output.port, output.frame) for output in expected)
    qpns = [driver.words.word(f"RING1_MEMBER{member}_QPN") for member in range(len(config.rings[0].members))]
    assert qpns == program.rings[config.rings[0].ring_id].qpn.tolist()
    assert driver.words.word("RING0_MEMBER0_QPN") == _ONES


def test_a_ring_of_another_generation_begins_again(card, trace):
    config, inputs = trace("rack")
    driver = bring_up(card, config)
    ring = replace(config.rings[0], generation=9)
    for item in inputs[:30]:
        card.push(item.port, item.frame)
    assert card.run()
    list(card.emitted())
    driver.configure(replace(_wide(config), rings=(ring,)))
    for item in inputs:
        card.push(item.port, item.frame)
    assert card.run(10_000_000)
    expected = reference_outputs(config, inputs)
    found = sorted((emitted.port, emitted.frame) for emitted in card.emitted())
    assert found == sorted((output.port, output.frame) for output in expected)
