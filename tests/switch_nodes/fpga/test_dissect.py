from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from switch_nodes.fpga.dissect import differing_fields, dissect
from tests.support.netreduce_harness import small_job
from workloads.wire import encode_packet

JOB = small_job()
FIRST, MIDDLE, ANSWER = JOB.frame(1, 1, 0), JOB.frame(1, 1, 1), JOB.answer(0, 5, 1)
V6 = small_job(ipv6=True).frame(0, 1, 0)


@pytest.mark.parametrize("frame", [FIRST, MIDDLE, ANSWER, V6, FIRST + b"trailer", b"", b"\1\2", bytes(60), FIRST[:50]])
def test_every_bit_is_in_one_field(frame):
    fields = dissect(frame)
    assert sum(field.bits for field in fields) == 8 * len(frame)
    assert len({field.name for field in fields}) == len(fields)


def test_names_and_texts():
    texts = {field.name: field.text for field in dissect(FIRST)}
    assert texts["Ethernet.src"] == "02:00:00:00:00:02"
    assert texts["IPv4.src"] == "10.0.0.2"
    assert texts["BTH.opcode"] == "0x06 WRITE_FIRST"
    assert texts["BTH.dest_qpn"] == "0x101"
    assert texts["RETH.rkey"] == "0x5001"
    assert texts["INA header.msg_id"] == "1"
    assert texts["iCRC"].endswith("(valid)")
    assert sum(name.startswith("element") for name in texts) == 60
    assert {field.name: field.text for field in dissect(FIRST[:-1] + b"\0")}["iCRC"].endswith("(wrong for these bytes)")


def change(frame, **fields):
    packet = JOB.packet(1, 1, 1)
    return encode_packet(replace(packet, bth=replace(packet.bth, **fields)))


@pytest.mark.parametrize(
    ("found", "names"),
    [
        (MIDDLE, []),
        (change(MIDDLE, psn=JOB.psn(1, 1, 1) ^ 1), ["BTH.psn", "iCRC"]),
        (change(MIDDLE, ack_req=1), ["BTH.ack_req", "iCRC"]),
        (MIDDLE[:-1] + bytes((MIDDLE[-1] ^ 1,)), ["iCRC"]),
        (MIDDLE + b"\0", ["length", "byte[314]"]),
    ],
)
def test_what_differs_is_named(found, names):
    assert [field.name for field in differing_fields(MIDDLE, found)] == names


def test_one_bit_of_one_element():
    at = len(MIDDLE) - 4 - 256 + 4 * 7
    found = bytearray(MIDDLE)
    found[at] ^= 0x10
    (element, icrc) = differing_fields(MIDDLE, bytes(found))
    assert (element.name, element.bits) == ("element[7]", "0x10")
    assert icrc.found.endswith("(wrong for these bytes)")


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([FIRST, ANSWER, V6]), st.integers(0, 10**6), st.integers(0, 7), st.integers(0, 30))
def test_any_change_of_any_bit_is_found(frame, place, bit, cut):
    found = bytearray(frame[: len(frame) - cut])
    found[place % len(found)] ^= 1 << bit
    assert differing_fields(frame, bytes(found))
