import itertools
import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.own_program import ProgramFailed
from testbed.history.codec import encode, error_fields, error_from
from testbed.worlds.emulated.control import LineBuffer, NodeChannel, connect, listen, peer_pid
from tests.support.emulated import Said
from workloads.errors import HostCapabilityError, InternalError, ScenarioError, TestbedError
from workloads.events import WorkerFinished


@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9), max_size=3), max_size=5),
    st.lists(st.integers(0, 200), max_size=8),
)
def test_messages_survive_any_cut_of_the_stream(messages: list[dict[str, object]], cuts: list[int]) -> None:
    stream = b"".join(encode(message) for message in messages)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    buffer = LineBuffer()
    parts = [stream[begin:end] for begin, end in itertools.pairwise(edges)]
    assert [message for part in parts for message in buffer.feed(part)] == messages


def test_a_line_that_is_no_object_is_refused() -> None:
    for line in (b"[]\n", b"nonsense\n", b"\n"):
        with pytest.raises(ValueError, match=r"no JSON object|Expecting value"):
            LineBuffer().feed(line)


def test_values_of_numpy_become_plain() -> None:
    assert encode({"a": np.int64(3), "b": np.arange(2), "c": b"\x01\xff"}) == b'{"a":3,"b":[0,1],"c":"01ff"}\n'


@pytest.mark.parametrize(
    "error",
    [
        ScenarioError("bad", file="a.yaml", key="switch.program", line=3, found="x", allowed="y"),
        HostCapabilityError("a thing", "get it"),
        InternalError("us"),
    ],
)
def test_errors_cross_the_channel(error: TestbedError) -> None:
    twin = error_from(json.loads(json.dumps(error_fields(error))))
    assert (type(twin), str(twin)) == (type(error), str(error))


def test_a_kind_of_an_error_crosses_as_what_it_is_a_kind_of() -> None:
    twin = error_from(json.loads(json.dumps(error_fields(ProgramFailed("no", file="a.py", key="class A", line=3)))))
    assert (type(twin), str(twin)) == (ScenarioError, "a.py:3: class A: no")


def test_a_socket_in_a_folder_whose_path_is_longer_than_sun_path(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    with listen(folder) as server, connect(folder):
        server.setblocking(True)
        connection, _ = server.accept()
        with connection:
            assert peer_pid(connection) == os.getpid()


class TestNodeChannel:
    @pytest.fixture
    def pair(self) -> Iterator[tuple[NodeChannel, socket.socket]]:
        near, far = socket.socketpair()
        far.settimeout(5)
        with near, far:
            yield NodeChannel(near, "h1"), far

    def start(self, channel: NodeChannel, far: socket.socket) -> None:
        far.send(encode({"control": "tick"}) + encode({"control": "start", "origin_ns": 77}))
        assert channel.await_start() == 77

    def test_stop_and_a_closed_stream_end_the_wait_for_the_start(self, pair: tuple[NodeChannel, socket.socket]) -> None:
        channel, far = pair
        far.send(encode({"control": "stop"}))
        assert channel.await_start() is None
        far.close()
        assert channel.await_start() is None

    def test_events_are_held_until_a_tick(self, pair: tuple[NodeChannel, socket.socket]) -> None:
        channel, far = pair
        self.start(channel, far)
        channel.flush()
        far.setblocking(False)
        for number in range(3):
            channel.on_event(number, Said(str(number)))
        with pytest.raises(BlockingIOError):
            far.recv(1)
        far.send(encode({"control": "tick"}))
        assert channel.on_control() is True
        assert [record["what"] for record in LineBuffer().feed(far.recv(4096))] == ["0", "1", "2"]

    def test_an_urgent_event_goes_at_once_behind_what_was_held(self, pair: tuple[NodeChannel, socket.socket]) -> None:
        channel, far = pair
        self.start(channel, far)
        channel.flush()
        channel.on_event(1, Said("first"))
        channel.on_event(2, WorkerFinished(1))
        assert [record["event"] for record in LineBuffer().feed(far.recv(4096))] == ["Said", "WorkerFinished"]

    def test_nobody_who_reads_never_blocks_and_loses_nothing(self, pair: tuple[NodeChannel, socket.socket]) -> None:
        channel, far = pair
        self.start(channel, far)
        for number in range(200):
            channel.on_event(number, Said("x" * 10_000))
            channel.flush()
        buffer, seen, finished = LineBuffer(), [], False
        while not finished:
            channel.flush()
            if len(seen) == 200 and not finished:
                channel.done()
            for message in buffer.feed(far.recv(1 << 20)):
                finished = finished or message.get("control") == "done"
                seen += [message["t"]] if "t" in message else []
        assert seen == list(range(200))

    def test_stop_ends_the_loop(self, pair: tuple[NodeChannel, socket.socket]) -> None:
        channel, far = pair
        self.start(channel, far)
        far.send(encode({"control": "stop"}))
        assert channel.on_control() is False

    def test_a_vanished_orchestrator_ends_the_loop(self, pair: tuple[NodeChannel, socket.socket]) -> None:
        channel, far = pair
        self.start(channel, far)
        far.close()
        assert channel.on_control() is False

    def test_a_kill_takes_the_node_but_not_what_it_told(self, pair: tuple[NodeChannel, socket.socket]) -> None:
        channel, far = pair
        self.start(channel, far)
        channel.flush()
        far.send(encode({"control": "die"}))
        pid = os.fork()
        if pid == 0:
            channel.on_event(1, Said("before"))
            channel.on_control()
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        far.setblocking(False)
        assert [record["what"] for record in LineBuffer().feed(far.recv(4096))] == ["before"]
