"""Ranks without torch: NumPy arrays through the real socket, shared memory and a simulated network."""

import socket
import threading
import time

import numpy as np
import pytest

from testbed.train.recorder import Recorder
from testbed.train.server import RankServer, ServerOptions
from tests.testbed.train.fabric import MEMORY, SIZE, Fabric
from workloads.ranks.client import NetworkFailed, RankClient
from workloads.traces.chakra import ChakraOptions, read_chakra


@pytest.fixture
def fabric(tmp_path):
    made = Fabric(tmp_path)
    yield made
    made.close()


class Sum:
    """One all-reduce of one rank."""

    def __init__(self, client, values, op="sum"):
        self.total, self.problem, self._over = None, None, threading.Event()
        self._values = values
        client.post_sum(self._fill, len(values), op, self._take, self._refuse)

    def _fill(self, memory):
        np.frombuffer(memory, np.float32)[:] = self._values

    def _take(self, memory, network_ns):
        self.total = np.frombuffer(memory, np.float32).copy()
        assert network_ns > 0
        self._over.set()

    def _refuse(self, reason):
        self.problem = reason
        self._over.set()

    def wait(self):
        assert self._over.wait(15)
        return self.total


def gradients(number, elements):
    draw = np.random.default_rng(number)
    return [draw.standard_normal(elements).astype(np.float32) for _ in range(SIZE)]


def fold(values):
    total = values[0].copy()
    for value in values[1:]:
        total += value
    return total


def test_a_recorder_hears_of_each_collective(tmp_path):
    recorder = Recorder(SIZE)
    fabric = Fabric(tmp_path, recorder=recorder)
    clients = [fabric.rank(rank) for rank in range(SIZE)]
    for number, elements in enumerate((100, 250)):
        sums = [Sum(client, values) for client, values in zip(clients, gradients(number, elements), strict=True)]
        for each in sums:
            each.wait()
    fabric.close()
    recorder.write(tmp_path / "trace")
    files = [(str(rank), (tmp_path / "trace" / f"training.{rank}.et").read_bytes()) for rank in range(SIZE)]
    for nodes in read_chakra(files, ChakraOptions(), "test").ranks:
        assert [node.bytes for node in nodes if node.kind == "all_reduce"] == [400, 1000]
        assert nodes[-1].after == (3,)
        assert nodes[3].after == (1, 2)


def test_many_all_reduces_of_all_ranks_are_in_flight_at_once(fabric):
    clients = [fabric.rank(rank) for rank in range(SIZE)]
    inputs = [gradients(number, elements) for number, elements in enumerate((3000, 1, 20_000, 999))]
    sums = [[Sum(client, values[rank]) for values in inputs] for rank, client in enumerate(clients)]
    for rank in range(SIZE):
        for values, item in zip(inputs, sums[rank], strict=True):
            assert item.wait().tobytes() == fold(values).tobytes()
    for client in clients:
        client.leave()


def test_memory_that_is_full_holds_the_rank_up_until_a_sum_is_back(tmp_path):
    fabric = Fabric(tmp_path, memory=64 << 10)
    try:
        clients = [fabric.rank(rank) for rank in range(SIZE)]
        inputs = [gradients(number, 6000) for number in range(8)]
        sums = [[] for _ in clients]

        def train(rank):
            for values in inputs:
                sums[rank].append(Sum(clients[rank], values[rank]))

        threads = [threading.Thread(target=train, args=(rank,)) for rank in range(SIZE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        for rank in range(SIZE):
            for values, item in zip(inputs, sums[rank], strict=True):
                assert item.wait().tobytes() == fold(values).tobytes()
        with pytest.raises(NetworkFailed, match="an all-reduce of 80000 bytes is more than the memory of a rank"):
            Sum(clients[0], np.zeros(20_000, np.float32))
        for client in clients:
            client.leave()
    finally:
        fabric.close()


def test_the_same_reason_reaches_every_rank(fabric):
    clients = [fabric.rank(rank) for rank in range(SIZE)]
    sums = [Sum(client, np.ones(10 + (rank == 2), np.float32)) for rank, client in enumerate(clients)]
    for item in sums:
        item.wait()
        assert item.problem == (
            "collective 0 differs: ranks 0, 1, 3 posted all_reduce of 10 float32 (sum); "
            "rank 2 posted all_reduce of 11 float32 (sum)"
        )
    with pytest.raises(NetworkFailed, match="collective 0 differs"):
        clients[0].announce("barrier")


def test_a_rank_that_goes_without_a_word_is_missed_at_once(fabric):
    clients = [fabric.rank(rank) for rank in range(SIZE)]
    item = Sum(clients[0], np.ones(10, np.float32))
    clients[3]._socket.shutdown(2)  # as when its process is killed
    item.wait()
    assert item.problem == "rank 3 ended: its process ended without a word"


def test_a_silent_rank_is_missed_in_bounded_time(tmp_path):
    fabric = Fabric(tmp_path, timeout_s=0.5)
    try:
        clients = [fabric.rank(rank) for rank in range(SIZE)]
        began = time.monotonic()
        items = [Sum(client, np.ones(10, np.float32)) for client in clients[:3]]
        for item in items:
            item.wait()
            assert "within 0.5 s rank 3 did not post collective 0" in item.problem
        assert time.monotonic() - began < 10
    finally:
        fabric.close()


def test_a_network_that_closes_ends_what_waits_for_it(tmp_path):
    fabric = Fabric(tmp_path)
    clients = [fabric.rank(rank) for rank in range(SIZE)]
    item = Sum(clients[0], np.ones(10, np.float32))
    time.sleep(0.1)
    fabric.close()
    item.wait()
    assert item.problem.startswith("the network went away")
    assert not fabric.path.exists()


def test_one_that_is_interrupted_while_a_rank_comes_closes_all_the_same(tmp_path, monkeypatch):
    path = tmp_path / "s"
    server = RankServer(path, SIZE, ServerOptions(MEMORY, 20.0, "rack, simulated"), lambda first: None, print)

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(server._selector, "register", interrupt)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        with pytest.raises(KeyboardInterrupt):
            server.poll(5.0)
        server.close()
        assert client.recv(1) == b"", "the connection is closed, too"
    assert not path.exists()


@pytest.mark.parametrize(
    ("rank", "size", "told"),
    [
        (0, 3, "the training has 3 ranks, the scenario 4 workers: start 4 ranks"),
        (7, 4, "there is no rank 7: the scenario has 4 workers, ranks 0 to 3"),
    ],
)
def test_a_rank_that_does_not_fit_is_told_why(fabric, rank, size, told):
    with pytest.raises(NetworkFailed, match=told):
        fabric.rank(rank, size)


def test_a_second_process_of_a_rank_is_refused(fabric):
    fabric.rank(0)
    with pytest.raises(NetworkFailed, match="rank 0 is there already: one training at a time"):
        fabric.rank(0)


def test_without_a_network_the_message_says_how_to_make_one(tmp_path):
    with pytest.raises(NetworkFailed, match=r"no network at .*`tb up SCENARIO` makes one"):
        RankClient(str(tmp_path / "nothing"), 0, 2)


def test_what_speaks_another_language_is_sent_away_and_harms_nobody(fabric):
    import socket

    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(str(fabric.path))
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert b"that is no rank" in stranger.recv(4096)
    clients = [fabric.rank(rank) for rank in range(SIZE)]
    items = [Sum(client, np.ones(5, np.float32)) for client in clients]
    assert [item.wait().tolist() for item in items] == [[4.0] * 5] * SIZE
