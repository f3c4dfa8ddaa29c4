"""What ranks posted, as dumps of flight recorders that a training leaves."""

from __future__ import annotations

from pathlib import Path

from testbed.explain.hang import find_hang
from testbed.train.flight import FlightLog
from testbed.train.listener import Listeners
from testbed.train.session import Carry
from tests.testbed.train.calls import Training, tb
from workloads.ranks.wire import Agreed, Group, Post
from workloads.traces.flight import COMPLETED, SCHEDULED, STARTED, FlightOp, read_dumps


def _post(number: int, what: str = "all_reduce", *, group: str = "", shape: str = "2 x 3", peer: int = -1) -> Post:
    return Post(number, what, "float32", "sum", 6, True, 0, group=group, shape=shape, peer=peer)


def _ops(log: FlightLog, folder: Path, rank: int = 0) -> list[FlightOp]:
    log.write(folder)
    return list(read_dumps(folder)[rank].ops)


def test_a_collective_goes_through_its_states(tmp_path: Path) -> None:
    log = FlightLog(2, tmp_path)
    log.posted(0, _post(0), 10)
    assert [(op.state, op.started_ns) for op in _ops(log, tmp_path)] == [(SCHEDULED, None)]
    log.posted(1, _post(0), 20)
    log.carried(Carry(0, (_post(0), _post(0))), 30)
    assert _ops(log, tmp_path)[0].state == STARTED
    log.answered(0, 0, 90)
    (op,) = _ops(log, tmp_path)
    assert (op.state, op.sizes, op.dtypes) == (COMPLETED, ((2, 3),), ("Float",))
    assert op.started_ns is not None
    assert op.completed_ns is not None
    assert (op.started_ns - op.posted_ns, op.completed_ns - op.posted_ns) == (20, 80)
    assert find_hang(read_dumps(tmp_path)).calls[0].waiting == (1,), "it did not hear the answer yet"


def test_groups_count_for_themselves(tmp_path: Path) -> None:
    log = Listeners(FlightLog(3, tmp_path))
    log.asked(2, Group(0, "7", (0, 2), 0.0))
    log.agreed(2, Agreed(0, "x.1", 0, -1), 5)
    log.posted(2, _post(1, group="x.1"), 6)
    log.posted(2, _post(2), 7)
    log.posted(2, _post(3, "send", peer=0, group="x.1"), 8)
    log.failed()
    dump = read_dumps(tmp_path)[2]
    assert dump.groups["7"].ranks == (0, 2)
    assert [(op.group, op.number, op.what, op.peer) for op in dump.ops] == [
        ("7", 1, "all_reduce", -1), ("0", 1, "all_reduce", -1), ("7", 1, "send", 0),
    ]  # fmt: skip
    log.renew()
    log.failed()
    assert read_dumps(tmp_path)[2].ops == ()


def test_what_goes_over_the_store_ends_with_the_agreement(tmp_path: Path) -> None:
    log = FlightLog(2, tmp_path)
    log.posted(0, _post(0, "all_gather"), 1)
    log.agreed(0, Agreed(0, "", 0, -1), 2)
    (op,) = _ops(log, tmp_path)
    assert (op.state, op.results) == (COMPLETED, ((4, 3),))


def test_the_newest_posts_are_kept(tmp_path: Path) -> None:
    log = FlightLog(1, tmp_path)
    for number in range(2100):
        log.posted(0, _post(number), number)
    ops = _ops(log, tmp_path)
    assert [ops[0].number, ops[-1].number, len(ops)] == [101, 2100, 2000]


def test_a_training_that_hangs_leaves_its_dumps_and_they_name_the_rank(tmp_path: Path) -> None:
    training = Training(tmp_path, "sum:1000", "hang@1", "sum:1000", options=("--timeout", "1s"))
    assert training.code == 1
    found = tb("explain", str(training.run_dir))
    assert found.returncode == 0, found.stderr
    assert "rank 0 waits in collective 2 of group 0 (default_pg), all_reduce of 1000 Float." in found.stdout
    assert "All waiting ends at rank 1." in found.stdout


def test_a_training_leaves_dumps_on_request(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    training = Training(tmp_path, "sum:1000", options=("--flight-recorder", str(folder)))
    assert training.code == 0
    assert not (training.run_dir / "flight-recorder").exists()
    found = tb("explain", str(folder))
    assert found.returncode == 2, "no rank waits"
    assert "no rank waits for another" in found.stdout
    again = Training(tmp_path, "sum:1000", options=("--flight-recorder", str(folder)))
    assert again.code == 64
    assert "--flight-recorder: is there already" in again.err
