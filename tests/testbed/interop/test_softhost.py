from __future__ import annotations

import ipaddress

from testbed.interop.softhost import ArpAnswering
from tests.support.machines import Forwarder

MAC, IP = b"\2INA\0\2", bytes((10, 77, 0, 3))
ASKING_MAC, ASKING_IP = b"\2INA\0\1", bytes((10, 77, 0, 2))
HEAD = bytes.fromhex("0001080006040001")


class Worker(Forwarder):
    def __init__(self) -> None:
        super().__init__({})

    def finish(self, now: int) -> None:
        pass


def a_request(target: bytes = IP) -> bytes:
    return b"\xff" * 6 + ASKING_MAC + b"\x08\x06" + HEAD + ASKING_MAC + ASKING_IP + bytes(6) + target


def test_a_question_for_our_address_is_answered():
    machine = ArpAnswering(Worker(), MAC, IP)
    machine.receive_frame(0, a_request() + bytes(18), 0)
    ((port, answer),) = machine.frames_to_send(0)
    assert port == 0
    assert answer == ASKING_MAC + MAC + b"\x08\x06" + HEAD[:-1] + b"\x02" + MAC + IP + ASKING_MAC + ASKING_IP
    assert list(machine.frames_to_send(0)) == []


def test_scapy_reads_the_answer_as_such():
    from scapy.layers.l2 import ARP, Ether

    machine = ArpAnswering(Worker(), MAC, IP)
    machine.receive_frame(0, a_request(), 0)
    ((_, answer),) = machine.frames_to_send(0)
    arp = Ether(bytes(answer))[ARP]
    assert (arp.op, arp.psrc, arp.pdst) == (2, str(ipaddress.ip_address(IP)), str(ipaddress.ip_address(ASKING_IP)))


def test_questions_for_others_answers_and_stubs_are_left_alone():
    machine = ArpAnswering(Worker(), MAC, IP)
    reply = bytearray(a_request())
    reply[21] = 2
    for frame in (a_request(bytes((10, 77, 0, 9))), bytes(reply), a_request()[:30]):
        machine.receive_frame(0, frame, 0)
    assert list(machine.frames_to_send(0)) == []


def test_all_else_goes_to_the_worker():
    inner = Worker()
    frame = b"\2" * 12 + b"\x08\x00" + bytes(60)
    ArpAnswering(inner, MAC, IP).receive_frame(0, frame, 5)
    assert inner.received == [(5, 0, frame)]
