from typing import Any

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.forwarding.fast import create_forward
from workloads.errors import ScenarioError
from workloads.machine import BatchMachine, FrameBatch

A, B, C, X = (bytes((2, 0, 0, 0, 0, n)) for n in (1, 2, 3, 9))
BROADCAST = b"\xff" * 6


def frame(destination: bytes, source: bytes, body: bytes = b"\x08\x00" + bytes(46)) -> bytes:
    return destination + source + body


class Plain:
    def __init__(self, *macs: tuple[bytes, int], ports: int = 4, **more: Any) -> None:
        self.program = ForwardProgram(SwitchConfig("s1", "forward", ports, macs, **more))

    def feed(self, port: int, data: bytes) -> list[int]:
        self.program.receive_frame(port, data, 0)
        sent = list(self.program.frames_to_send(0))
        assert all(bytes(out) == data for _, out in sent)
        return [out for out, _ in sent]


def test_static_entries() -> None:
    plain = Plain((A, 0), (B, 3))
    assert plain.feed(0, frame(B, A)) == [3]
    assert plain.feed(3, frame(A, B)) == [0]
    assert plain.program.counters == {"forwarded": 2, "flooded": 0, "filtered": 0, "runt": 0}


def test_learning_and_flooding() -> None:
    plain = Plain()
    assert plain.feed(1, frame(B, A)) == [0, 2, 3]
    assert plain.feed(2, frame(A, B)) == [1]
    assert plain.feed(1, frame(B, A)) == [2]
    assert plain.program.counters["flooded"] == 1


def test_a_host_that_moves_is_learnt_anew() -> None:
    plain = Plain()
    plain.feed(1, frame(BROADCAST, A))
    plain.feed(3, frame(BROADCAST, A))
    assert plain.feed(0, frame(A, B)) == [3]


def test_static_entries_are_not_learnt_over() -> None:
    plain = Plain((A, 0))
    plain.feed(3, frame(BROADCAST, A))
    assert plain.feed(1, frame(A, B)) == [0]


def test_never_back_out_of_the_ingress_port() -> None:
    plain = Plain((A, 0))
    assert plain.feed(0, frame(A, B)) == []
    assert plain.feed(2, frame(BROADCAST, B)) == [0, 1, 3]
    assert plain.program.counters["filtered"] == 1


@pytest.mark.parametrize("group", [BROADCAST, bytes.fromhex("01005e000001"), bytes.fromhex("333300000001")])
def test_groups_are_flooded_and_never_learnt(group: bytes) -> None:
    plain = Plain()
    plain.feed(1, frame(BROADCAST, group))
    assert plain.feed(0, frame(group, A)) == [1, 2, 3]


def test_link_local_groups_stay_on_their_link() -> None:
    plain = Plain()
    assert plain.feed(0, frame(bytes.fromhex("0180c200000e"), A)) == []
    assert plain.feed(0, frame(bytes.fromhex("0180c2000010"), A)) == [1, 2, 3]


@pytest.mark.parametrize("size", range(14))
def test_runts_are_dropped(size: int) -> None:
    plain = Plain((A, 0), (B, 3))
    assert plain.feed(0, frame(B, A)[:size]) == []
    assert plain.program.counters["runt"] == 1


def test_the_table_is_bounded() -> None:
    plain = Plain()
    plain.program.macs.max_learnt = 2
    for port, source in enumerate((A, B, C)):
        plain.feed(port, frame(BROADCAST, source))
    assert plain.feed(3, frame(B, X)) == [1]
    assert plain.feed(3, frame(C, X)) == [0, 1, 2]
    plain.feed(2, frame(BROADCAST, A))
    assert plain.feed(3, frame(A, X)) == [2]


def test_frames_are_copied() -> None:
    plain = Plain((A, 0))
    buffer = bytearray(frame(A, B))
    plain.program.receive_frame(1, memoryview(buffer), 0)
    buffer[:] = bytes(len(buffer))
    assert [bytes(data) for _, data in plain.program.frames_to_send(0)] == [frame(A, B)]


def test_an_entry_for_a_port_that_does_not_exist() -> None:
    with pytest.raises(ScenarioError) as caught:
        Plain((A, 4))
    assert str(caught.value) == (
        "scenario: switch s1: MAC 02:00:00:00:00:01 is behind a port that does not exist; found 4; allowed: 0 .. 3"
    )


def udp(sport: int, more: bytes = b"") -> bytes:
    ip = bytes.fromhex("4500 0030 0000 4000 4011 0000 0a4d0002 0a4d0003".replace(" ", ""))
    return b"\x08\x00" + ip + sport.to_bytes(2, "big") + bytes.fromhex("12b7 001c 0000".replace(" ", "")) + more


def test_a_flow_takes_one_port_of_its_group_and_the_flows_take_all() -> None:
    plain = Plain((A, 0), groups=((B, (1, 3)),), flow_salt=5)
    taken = {}
    for sport in range(0xC000, 0xC040):
        taken[sport] = plain.feed(0, frame(B, A, udp(sport)))
        assert plain.feed(0, frame(B, A, udp(sport, b"more"))) == taken[sport]
    assert {tuple(ports) for ports in taken.values()} == {(1,), (3,)}
    assert plain.program.counters["flooded"] == 0


def test_floods_stay_on_the_tree() -> None:
    plain = Plain((A, 0), groups=((B, (2, 3)),), flood_ports=(0, 1, 2))
    assert plain.feed(0, frame(BROADCAST, A)) == [1, 2]
    assert plain.feed(2, frame(X, A)) == [0, 1]
    assert plain.feed(3, frame(BROADCAST, A)) == []
    assert plain.program.counters["filtered"] == 1


def test_nothing_is_learnt_beside_the_tree() -> None:
    plain = Plain((A, 0), flood_ports=(0, 1, 2))
    plain.feed(3, frame(A, X))
    assert plain.feed(0, frame(X, A)) == [1, 2]
    plain.feed(1, frame(A, X))
    assert plain.feed(0, frame(X, A)) == [1]


def test_a_group_is_not_learnt_over() -> None:
    plain = Plain(groups=((B, (2, 3)),))
    plain.feed(1, frame(BROADCAST, B))
    assert plain.feed(0, frame(B, A, udp(9))) in ([2], [3])
    assert B not in plain.program.macs.learnt


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"groups": ((B, (1, 4)),)}, ("switch s1: MAC 02:00:00:00:00:02 is behind a port that does not exist; found 4; "
                                     "allowed: 0 .. 3")),
        ({"groups": ((B, ()),)}, "switch s1: the group of MAC 02:00:00:00:00:02 leads nowhere"),
        ({"groups": ((A, (1, 2)),)}, "switch s1: the group of MAC 02:00:00:00:00:01 also has an entry of its own"),
        ({"flood_ports": (0, 9)}, "switch s1: floods go to a port that does not exist; found 9; allowed: 0 .. 3"),
    ],
)  # fmt: skip
def test_entries_that_no_frame_could_follow(more: dict[str, Any], text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Plain((A, 0), **more)
    assert str(caught.value) == f"scenario: {text}"


@pytest.mark.parametrize("create", [ForwardProgram, create_forward])
def test_only_a_hairpin_switch_sends_back_where_a_frame_came_from(create):
    for hairpin, ports in ((False, []), (True, [0])):
        program = create(SwitchConfig("s1", "forward", 2, ((A, 0), (B, 0)), flood_ports=(), hairpin=hairpin))
        batch = FrameBatch.of(2, 64)
        batch.append(0, B + A + bytes(50))
        if isinstance(program, BatchMachine):
            program.receive_batch(batch, 0)
        else:
            program.receive_frame(0, batch.row(0), 0)
        assert [port for port, _ in program.frames_to_send(0)] == ports
        program.receive_frame(0, b"\xff" * 6 + A + bytes(50), 0)  # and no flood
        assert list(program.frames_to_send(0)) == []
