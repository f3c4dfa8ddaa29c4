import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram, MacTable
from workloads.errors import ScenarioError

A, B, C, X = (bytes((2, 0, 0, 0, 0, n)) for n in (1, 2, 3, 9))
BROADCAST = b"\xff" * 6


def frame(destination: bytes, source: bytes, body: bytes = b"\x08\x00" + bytes(46)) -> bytes:
    return destination + source + body


class Plain:
    def __init__(self, *macs: tuple[bytes, int], ports: int = 4) -> None:
        self.program = ForwardProgram(SwitchConfig("s1", "forward", ports, macs))

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


def test_the_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MacTable, "max_learnt", 2)
    plain = Plain()
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
