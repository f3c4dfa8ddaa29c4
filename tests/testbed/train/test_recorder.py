"""What a training asked of its network, as a Chakra trace that a scenario runs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from testbed.train.recorder import Recorder, require_empty
from testbed.train.session import Carry
from tests.support.passing import assert_passes
from workloads.errors import ScenarioError
from workloads.ranks.wire import Post, Wired
from workloads.traces.chakra import ChakraOptions, read_chakra
from workloads.traces.model import COMPUTE, RECV, SEND, JobTrace

US = 1000


class Written:
    """Four ranks that post the same collectives, each answered before the next, unless the test says otherwise."""

    def __init__(self, size: int = 4) -> None:
        self.size, self.recorder, self.now = size, Recorder(size), 0
        self.number = 0

    def run(
        self, what: str, wired: Wired | None = None, ranks: tuple[int, ...] = (), us: int = 5, **more: object
    ) -> None:
        """After `us` of computing; the answer takes 100 us."""
        carry = self.post(what, wired, ranks, us, **more)
        self.answer(carry)

    def post(
        self, what: str, wired: Wired | None = None, ranks: tuple[int, ...] = (), us: int = 5, **more: object
    ) -> Carry:
        members, posts = ranks or tuple(range(self.size)), []
        self.now += us * US
        for place, rank in enumerate(members):
            own = more["wired_of"][place] if "wired_of" in more else wired  # type: ignore[index]
            root = more.get("root", -1)
            assert isinstance(root, int)
            posts.append(Post(self.number, what, "float32", "sum", 25, True, 0, root=root, wired=own))
            self.recorder.posted(rank, posts[-1], self.now)
        carry = Carry(self.number, tuple(posts), ranks)
        self.number += 1
        self.recorder.carried(carry, self.now)
        return carry

    def answer(self, carry: Carry) -> None:
        self.now += 100 * US
        for rank, post in zip(carry.ranks or range(self.size), carry.posts, strict=True):
            self.recorder.answered(rank, post.number, self.now)

    def read(self, folder: Path) -> JobTrace:
        self.recorder.write(folder)
        files = [(f"training.{rank}.et", (folder / f"training.{rank}.et").read_bytes()) for rank in range(self.size)]
        return read_chakra(files, ChakraOptions(), "test")


def test_each_collective_follows_the_computation_before_it(tmp_path: Path) -> None:
    written = Written()
    written.run("all_reduce", us=7)
    written.run("broadcast", Wired("broadcast", 30), us=9, root=2)
    nodes = written.read(tmp_path).ranks[3][1:]
    assert [(node.kind, node.bytes, node.compute_ns) for node in nodes] == [
        (COMPUTE, 0, 0), ("all_reduce", 100, 0), (COMPUTE, 0, 9 * US), ("broadcast", 120, 0),
    ]  # fmt: skip
    assert [node.after for node in nodes] == [(), (1,), (1, 2), (3,)]
    assert nodes[3].root == 2


def test_collectives_that_are_posted_without_waiting_may_overlap(tmp_path: Path) -> None:
    written = Written(2)
    first = written.post("all_reduce")
    second = written.post("all_reduce", us=11)
    written.answer(first)
    written.answer(second)
    written.run("all_reduce", us=3)
    nodes = written.read(tmp_path).ranks[0][1:]
    assert [node.after for node in nodes] == [(), (1,), (1,), (3,), (3, 2, 4), (5,)]
    assert [node.compute_ns for node in nodes if node.kind == COMPUTE] == [0, 11 * US, 3 * US]


def test_parts_of_an_all_gather_groups_and_swaps(tmp_path: Path) -> None:
    written = Written()
    written.run("all_gather", Wired("all_gather", 80))
    written.run("all_reduce", Wired("all_reduce", 9), ranks=(1, 3))
    written.run("all_to_all", Wired("swap", 8, (2, 2, 2, 2), (2, 2, 2, 2)))
    found = [(node.kind, node.bytes, node.group) for node in written.read(tmp_path).ranks[1] if node.kind != COMPUTE]
    assert found == [("all_gather", 320, ()), ("all_reduce", 36, (1, 3)), ("all_to_all", 32, ())]
    assert len([node for node in written.read(tmp_path).ranks[0] if node.kind == "all_reduce"]) == 0


def test_a_swap_of_unequal_parts_is_messages(tmp_path: Path) -> None:
    written = Written(2)
    written.run("all_to_all", wired_of=[Wired("swap", 5, (1, 4), (1, 0)), Wired("swap", 4, (0, 3), (4, 3))])
    trace = written.read(tmp_path)
    assert [(node.kind, node.bytes, node.peer) for node in trace.ranks[0] if node.kind != COMPUTE] == [(SEND, 16, 1)]
    assert [(node.kind, node.bytes, node.peer) for node in trace.ranks[1] if node.kind != COMPUTE] == [(RECV, 16, 0)]


def test_what_crossed_the_store_or_never_ran_is_left_out(tmp_path: Path) -> None:
    written = Written(2)
    written.recorder.posted(0, Post(0, "gather", "float32", "", 3, False, 0), 5)
    written.recorder.posted(0, Post(1, "all_reduce", "float32", "sum", 3, True, 0), 6)
    assert [node.kind for node in written.read(tmp_path).ranks[0]] == [COMPUTE]


def test_a_table_has_the_size_of_each(tmp_path: Path) -> None:
    written = Written(3)
    written.run("all_reduce")
    written.run("send", Wired("send", 4), ranks=(2, 0))
    written.read(tmp_path)
    with (tmp_path / "collectives.csv").open() as file:
        assert list(csv.reader(file)) == [
            ["number", "collective", "dtype", "ranks", "bytes"],
            ["0", "all_reduce", "float32", "all", "100"],
            ["1", "send", "float32", "2 0", "16"],
        ]  # fmt: skip


@pytest.mark.protocols("ring")
def test_a_scenario_runs_what_was_recorded(tmp_path: Path) -> None:
    """Reduce-scatters and all-gathers of a trace stay a ring, next to all-reduces in the switch."""
    written = Written()
    for _ in range(2):
        written.run("all_gather", Wired("all_gather", 80))
        written.run("reduce_scatter", Wired("reduce_scatter", 80))
        written.run("all_reduce")
        written.run("send", Wired("send", 20), ranks=(3, 1))
        written.run("barrier", Wired("barrier", 0))
    written.read(tmp_path / "trace")
    scenario = load_scenario("rack", [f"job.workload={tmp_path / 'trace'}"], world="simulated")
    assert_passes(run_scenario(scenario, tmp_path / "run").document)


def test_one_file_stands_for_more_ranks(tmp_path: Path) -> None:
    written = Written(2)
    written.run("all_reduce", us=40)
    written.run("all_reduce", us=40)
    written.read(tmp_path)
    changes = [f"job.workload={tmp_path / 'training.0.et'}", "job.trace_ranks=8", "topology.hosts=8"]
    assert_passes(run_scenario(load_scenario("rack", changes, world="simulated"), tmp_path / "run").document)


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    require_empty(tmp_path)
    require_empty(tmp_path / "new")
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path, tmp_path / "file"):
        with pytest.raises(ScenarioError, match="--record: is there already"):
            require_empty(place)
