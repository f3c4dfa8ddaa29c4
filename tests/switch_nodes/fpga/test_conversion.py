import ipaddress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from switch_nodes.config import LeafLinks, RingConfig, RingMember, SpineLinks, SwitchConfig
from switch_nodes.fpga.conversion import as_registers_say, config_of, slots_of, text_of, text_words, words_of
from switch_nodes.fpga.errors import RegisterValueError
from switch_nodes.fpga.regmap import REGISTERS
from switch_nodes.steering.layout import SteeringConfig
from tests.support.cards import card_config
from tests.support.netreduce_harness import small_job
from workloads.config import ArithmeticSpec
from workloads.errors import ScenarioError

PORTS = 20
ips = st.one_of(st.binary(min_size=4, max_size=4), st.binary(min_size=16, max_size=16))


@st.composite
def rings(draw, ring_id):
    family = draw(st.sampled_from([4, 16]))
    own = st.binary(min_size=family, max_size=family)
    role = draw(st.sampled_from(["rack", "leaf", "spine"]))
    size = draw(st.integers(2 if role != "leaf" else 1, 9))
    addresses = draw(st.lists(own, min_size=size, max_size=size, unique=True))
    group = draw(st.integers(max(2, size), 64))
    first = draw(st.integers(0, group - size)) if role == "leaf" else 0
    ranks = (
        sorted(draw(st.sets(st.integers(0, group - 1), min_size=size, max_size=size)))
        if role == "spine"
        else range(first, first + size)
    )
    port = st.integers(0, PORTS - 1)
    members = tuple(RingMember(rank, ip, draw(port)) for rank, ip in zip(ranks, addresses, strict=True))
    links = None
    if role == "leaf":
        uplinks = tuple(draw(st.lists(port, min_size=1, max_size=5)))
        links = LeafLinks(group, uplinks, RingMember(draw(st.integers(0, 63)), draw(own), -1), draw(own))
    elif role == "spine":
        spines = draw(st.integers(1, 8))
        successors = tuple(draw(st.lists(own, min_size=size, max_size=size)))
        links = SpineLinks(group, successors, draw(st.integers(0, spines - 1)), spines)
    dtypes = ["float32", "int32"] + (["int32sat"] if links is None else [])
    return RingConfig(
        ring_id, members,
        ArithmeticSpec(draw(st.sampled_from(["sum", "max", "xor"])), draw(st.sampled_from(dtypes))),
        draw(st.integers(1, 65535)), draw(st.integers(1, 60)), draw(st.sampled_from([256, 512, 1024, 2048, 4096])),
        draw(st.integers(0, 2**32 - 1)), links,
    )  # fmt: skip


@st.composite
def configs(draw):
    ids = draw(st.lists(st.integers(0, 65535), max_size=3, unique=True))
    macs = draw(st.lists(st.tuples(st.binary(min_size=6, max_size=6), st.integers(0, PORTS - 1)), max_size=12))
    flood = draw(st.one_of(st.none(), st.sets(st.integers(0, PORTS - 1)).map(sorted).map(tuple)))
    name = draw(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8))
    return SwitchConfig(
        name, "fpga", PORTS, tuple(macs), tuple(draw(rings(ring_id)) for ring_id in ids),
        draw(st.sampled_from(["order", "asap"])), draw(st.sampled_from(["window", "epsn"])),
        flood_ports=flood, hairpin=draw(st.booleans()),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(configs())
def test_there_and_back(config):
    try:
        words = words_of(config)
    except ScenarioError as error:
        refused = str(error)
        config, words = replace(config, rings=()), words_of(replace(config, rings=()))
        assert "half of the PSNs" in refused
    assert all(REGISTERS.at(address) is not None and 0 < word < 1 << 32 for address, word in words.items())
    assert config_of(words, PORTS) == config


@settings(max_examples=30, deadline=None)
@given(configs(), st.data())
def test_words_that_a_bus_altered_give_a_configuration_or_a_named_register(config, data):
    """And never another exception: the card refuses, it does not fall over."""
    try:
        words = words_of(config)
    except ScenarioError:
        return
    if not words:
        return
    address = data.draw(st.sampled_from(sorted(words)))
    words[address] = data.draw(st.integers(0, 2**32 - 1))
    try:
        config_of(words, PORTS)
    except RegisterValueError as error:
        refused = error.address
    else:
        return
    assert REGISTERS.at(refused) is not None


def test_what_registers_do_not_hold_is_left_out_of_the_comparison():
    predecessor = RingMember(0, bytes(4), 9)
    leaf = replace(card_config().rings[0], links=LeafLinks(3, (1,), predecessor, bytes(4)))
    config = card_config(program="netreduce", flow_salt=77, flood_ports=(2, 0), rings=(leaf,))
    found = as_registers_say(config)
    assert (found.program, found.flow_salt, found.flood_ports) == ("fpga", 0, (0, 2))
    assert found.rings[0].links.predecessor.port == -1


def test_a_bank_in_words():
    """Written out by hand once, for those who build the other side."""
    ring = RingConfig(
        0x102, tuple(RingMember(r, ipaddress.ip_address(f"10.77.0.{r + 2}").packed, r) for r in range(2)),
        ArithmeticSpec("max", "int32"), 170, 2, 1024, 3,
    )  # fmt: skip
    config = SwitchConfig("s1", "fpga", 2, ((bytes.fromhex("02494e410001"), 1),), (ring,), "asap", flood_ports=(0, 1))
    assert words_of(config) == {
        0x1000: 0x3173, 0x1020: 1, 0x1030: 3, 0x1038: 1, 0x103C: 1,
        0x2000: 0x0249, 0x2004: 0x4E410001, 0x2008: 1,
        0x8000: 0x102, 0x8004: 1, 0x8008: 1, 0x800C: 170, 0x8010: 2, 0x8014: 1024, 0x8018: 3, 0x801C: 4, 0x8020: 2,
        0x8808: 0x0A4D0002, 0x8840: 1, 0x8844: 1, 0x8848: 0x0A4D0003,
    }  # fmt: skip
    assert slots_of(config) == 680


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"trace": True}, ("scenario: switch s1: trace: a card has no registers for it; found True; allowed: False "
                           "with "
                          "program fpga")),
        ({"groups": ((bytes(6), (0, 1)),)}, ("scenario: switch s1: groups: a card has no registers for it; found "
                                            "((b'\\x00\\x00\\x00\\x00\\x00\\x00', (0, 1)),); allowed: () with program "
                                            "fpga")),
        ({"memory": 5}, ("scenario: switch s1: memory: a card has no registers for it; found 5; allowed: 0 with "
                         "program "
                        "fpga")),
        ({"name": "s" * 33}, (f"scenario: switch {'s' * 33}: the name does not fit register LABEL; found '{'s' * 33}'; "
                             "allowed: at most 32 bytes")),
        ({"release": "now"}, "scenario: switch s1: release; found now; allowed: order, asap"),
        ({"gate": "open"}, "scenario: switch s1: gate; found open; allowed: window, epsn"),
        ({"ports": 65}, ("scenario: switch s1: too many ports for the registers of a card; found 65; allowed: at most "
                        "64")),
        ({"macs": ((bytes(6), 0),) * 257}, ("scenario: switch s1: too many static forwarding entries for the registers "
                                           "of a card; found 257; allowed: at most 256")),
        ({"macs": ((bytes(6), 3),)}, ("scenario: switch s1: entry of MAC 00:00:00:00:00:00; found port 3; allowed: 6 "
                                     "bytes, port 0 .. 2")),
        ({"flood_ports": (0, 3)}, "scenario: switch s1: flood port; found 3; allowed: 0 .. 2"),
    ],
)  # fmt: skip
def test_what_a_card_cannot_be_told(change, text):
    with pytest.raises(ScenarioError) as caught:
        words_of(card_config(**change))
    assert str(caught.value) == text


def test_steering_is_not_for_cards():
    with pytest.raises(ScenarioError, match="steering: a card has no registers for it"):
        words_of(card_config(steering=SteeringConfig(())))


def test_rings_that_cannot_be_installed_are_refused_before_anything_is_written():
    ring = small_job().ring()
    for wrong, text in (
        (replace(ring, path_mtu=1000), "path MTU; found 1000"),
        (replace(ring, generation=1 << 32), "generation"),
        (replace(ring, members=ring.members[::-1]), "not in rank order"),
        (replace(ring, links=LeafLinks(3, (0,), RingMember(2, bytes(16), 0), bytes(4))), "addresses of two families"),
    ):
        with pytest.raises(ScenarioError, match=text):
            words_of(card_config(rings=(wrong,)))
    with pytest.raises(ScenarioError, match="too many rings"):
        words_of(card_config(rings=tuple(replace(ring, ring_id=number) for number in range(9))))


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("RELEASE", 2, "0 .. 1"), ("RING_COUNT", 9, "0 .. 8"), ("RING0_PATH_MTU", 1000, "256, 512, 1024, 2048, 4096"),
        ("RING0_OP", 3, "0 .. 2"), ("RING0_FAMILY", 5, "4, 6"), ("RING0_MEMBERS", 0, "1 .. 64"),
        ("MAC0_PORT", 3, "0 .. 2"),
        ("RING0_MEMBER1_PORT", 3, "0 .. 2"), ("RING0_ROLE", 3, "0 .. 2"), ("LABEL", 0xFF, "UTF-8"),
        ("FLOOD_PORTS", 8, "0 .. 7"),
    ],
)  # fmt: skip
def test_registers_that_hold_what_they_cannot_are_named(name, value, allowed):
    words = words_of(card_config(flood_ports=(0,)))
    words[REGISTERS[name].address] = value
    with pytest.raises(RegisterValueError) as caught:
        config_of(words, 3)
    assert (REGISTERS.name_of(caught.value.address).split("[")[0], caught.value.allowed) == (name, allowed)


def test_texts():
    assert text_words("abcde", 2) == [0x64636261, 0x65]
    assert text_of(text_words("käse", 4)) == "käse"
    for wrong in ("123456789", "a\0b"):
        with pytest.raises(ValueError, match="at most 8 bytes"):
            text_words(wrong, 2)
