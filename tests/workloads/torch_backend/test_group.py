"""A process group whose ranks are threads: agreement, time limits, callbacks, order."""

import threading
from datetime import timedelta

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the backend of torch.distributed is not tested")
import torch.distributed as dist  # noqa: E402

from tests.workloads.torch_backend.members import SIZE, broadcast, options  # noqa: E402
from workloads.ranks.client import NetworkFailed  # noqa: E402
from workloads.torch_backend import membership  # noqa: E402
from workloads.torch_backend.work import CollectiveTimeout  # noqa: E402


def reasons(found):
    """The one reason that every rank heard."""
    assert all(isinstance(error, NetworkFailed) for error in found.values()), found
    (reason,) = {str(error) for error in found.values()}
    return reason


# Agreement.


def ints(size=2):
    return torch.ones(size, dtype=torch.int64)


def root(kind, odd):
    return options(kind, rootRank=int(odd))


def every(group, tensor):
    return [[tensor] * group.size()]


POSTS = {
    "root": lambda g, odd: g.broadcast([ints()], root(dist.BroadcastOptions, odd)),
    "reduce root": lambda g, odd: g.reduce([ints()], root(dist.ReduceOptions, odd)),
    "gather root": lambda g, odd: g.gather(
        every(g, ints()) if g.rank() in (0, 1) else [], [ints()], root(dist.GatherOptions, odd)
    ),
    "scatter root": lambda g, odd: g.scatter(
        [ints()], every(g, ints()) if g.rank() in (0, 1) else [], root(dist.ScatterOptions, odd)
    ),
    "shape": lambda g, odd: g.allreduce([torch.ones(2, 1) if odd else torch.ones(2)]),
    "elements": lambda g, odd: g.broadcast([ints(1 + odd)], root(dist.BroadcastOptions, False)),
    "dtype": lambda g, odd: g.allreduce([ints() if odd else ints().double()]),
    "operation": lambda g, odd: g.allreduce(
        [ints()], options(dist.AllreduceOptions, reduceOp=dist.ReduceOp.MAX if odd else dist.ReduceOp.MIN)
    ),
    "list": lambda g, odd: g.reduce_scatter([ints()], [[ints()] * (g.size() - 1) + [ints(2 + odd)]]),
    "collective": lambda g, odd: g.barrier() if odd else g.allreduce([ints()]),
    "network or store": lambda g, odd: g.allreduce([torch.ones(2) if odd else torch.ones(2).double()]),
    "all to all": lambda g, odd: g.all_to_all_single(
        torch.zeros(g.size()), torch.ones(g.size()), [], [1 + odd, *[1] * (g.size() - 2), 1 - odd]
    ),
}
"""What a rank posts, by what is different at the rank that is odd."""


@pytest.mark.parametrize("kind", list(POSTS))
@pytest.mark.parametrize("ranks", [tuple(range(SIZE)), (0, 1, 3)], ids=["all", "some"])
def test_ranks_that_differ_all_hear_who_posted_what(members, kind, ranks):
    groups = members.group(ranks)
    reason = reasons(members.each(lambda rank: POSTS[kind](groups[rank], rank == 1).wait(), ranks))
    assert reason.startswith("collective 0 differs: rank")
    assert "rank 1 posted " in reason
    assert "; rank" in reason


def test_a_rank_that_posts_less_and_leaves_is_named(members):
    groups = members.group()

    def use(rank):
        broadcast(groups[rank], rank)
        if rank == 2:
            members.ranks[2].client.leave()
            return None
        return broadcast(groups[rank], rank)

    found = members.each(use)
    found.pop(2)
    assert reasons(found) == (
        "rank 2 ended after 1 collective, and ranks 0, 1, 3 wait for it in collective 1, broadcast of 1 float64 from "
        "rank 1"
    ) or reasons(found).startswith("rank 2 ended after 1 collective")


# Time limits.


def test_wait_ends_in_time_and_the_collective_can_still_complete(members):
    groups = members.group()
    works = members.each(lambda rank: groups[rank].allreduce([torch.ones(3)]), (0, 1, 2))
    with pytest.raises(CollectiveTimeout, match=r"all_reduce of 3 float32 was not complete after 0.1 s"):
        works[0].wait(timedelta(seconds=0.1))
    groups[3].allreduce([torch.ones(3)])
    assert works[0].wait()


@pytest.mark.parametrize(
    ("post", "told"),
    [
        (lambda g, r: g.barrier(), "rank 3 did not post collective 0, barrier, for which ranks 0, 1, 2 wait"),
        (lambda g, r: g.allreduce([torch.ones(3)]), "rank 3 did not post collective 0, all_reduce of 3 float32 (sum)"),
        (lambda g, r: g.send([torch.ones(3)], 3), "rank 3 did not post a recv for the send of 3 float32 to rank 3"),
        (lambda g, r: g.recv([torch.ones(3)], 3), "rank 3 did not post a send for the recv of 3 float32 from rank 3"),
        (lambda g, r: g.recv_anysource([torch.ones(3)]), "no rank posted a send for the recv of 3 float32 from any"),
    ],
    ids=["barrier", "all_reduce", "send", "recv", "anysource"],
)
def test_the_time_limit_of_the_group_ends_every_wait(members, post, told):
    groups = members.group(timeout_s=0.5)
    reason = reasons(members.each(lambda rank: post(groups[rank], rank).wait(), (0, 1, 2)))
    assert reason.startswith(f"within 0.5 s (the time limit of the process group or the call) {told}"), reason


def test_the_time_limit_of_a_call_and_a_monitored_barrier_hold(members):
    groups = members.group()
    found = members.each(lambda rank: groups[rank].monitored_barrier(timedelta(seconds=0.5)), (0, 2))
    assert "0.5 s (the time limit of the process group or the call) ranks 1, 3 did not post" in reasons(found)


def test_the_time_limit_of_a_barrier_holds(members):
    groups = members.group()
    wanted = options(dist.BarrierOptions, timeout=0.5)
    found = members.each(lambda rank: groups[rank].barrier(wanted).wait(), (0, 1))
    assert "0.5 s (the time limit of the process group or the call) ranks 2, 3 did not post" in reasons(found)


def test_a_group_that_a_rank_does_not_make_fails_in_time(members):
    found = (
        members.group(timeout_s=0.5)
        if False
        else members.each(
            lambda rank: membership.Membership(members.store, "0", (0, 1, 2), 0.5, members.ranks[rank]), (0, 2)
        )
    )
    assert "rank 1 did not make process group '0' of ranks 0, 1, 2, for which ranks 0, 2 wait" in reasons(found)


def test_a_receive_may_be_posted_before_the_send_and_from_any_rank(members):
    groups = members.group()

    def use(rank):
        group, found = groups[rank], torch.zeros(2, dtype=torch.int64)
        work = group.recv([found], (rank - 1) % SIZE, 3)
        sent = group.send([torch.full((2,), rank)], (rank + 1) % SIZE, 3)
        work.wait()
        sent.wait()
        if rank == 2:
            any_source = group.recv_anysource([found], 4)
            any_source.wait()
            return found.tolist(), any_source._source_rank()
        if rank == 0:
            group.send([torch.full((2,), 7)], 2, 4).wait()
        return found.tolist()

    assert members.each(use) == {0: [3, 3], 1: [0, 0], 2: ([7, 7], 0), 3: [2, 2]}


def test_a_receive_does_not_hold_up_collectives(members):
    groups = members.group()
    found = torch.zeros(1)
    waiting = groups[0].recv([found], 1)
    assert members.each(lambda rank: broadcast(groups[rank], rank)) == dict.fromkeys(range(SIZE), 1.0)
    assert not waiting.is_completed()
    groups[1].send([torch.ones(1)], 0).wait()
    waiting.wait()
    assert found.item() == 1


# Callbacks.


def all_reduce(members, groups, dtype=torch.float32):
    tensors = [torch.ones(3, dtype=dtype) for _ in range(SIZE)]
    works = members.each(lambda rank: groups[rank].allreduce([tensors[rank]]))
    return tensors, works


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["network", "store"])
def test_an_error_where_the_result_is_written_fails_that_rank_alone(members, monkeypatch, dtype):
    groups = members.group()
    where = (
        "workloads.torch_backend.membership.writing"
        if dtype is torch.float32
        else "workloads.torch_backend.group.write"
    )
    broken = []

    def fails(*_):
        broken.append(1)
        raise ZeroDivisionError("a mistake")

    with monkeypatch.context() as patched:
        patched.setattr(where, fails)
        _, works = all_reduce(members, groups, dtype)
        for rank in range(SIZE):
            with pytest.raises(NetworkFailed, match=f"rank {rank} could not .*ZeroDivisionError: a mistake"):
                works[rank].wait()
    tensors, works = all_reduce(members, groups, dtype)
    for rank in range(SIZE):
        works[rank].wait()
        assert tensors[rank].tolist() == [4, 4, 4]


@pytest.mark.parametrize("how", ["then", "add_done_callback"])
def test_an_error_in_a_callback_of_the_user_ends_no_thread_of_ours(members, how):
    groups = members.group()
    _, works = all_reduce(members, groups)

    def fails(_):
        raise ZeroDivisionError("a mistake of the script")

    future = getattr(works[0].get_future(), how)(fails)
    if future is not None:
        with pytest.raises(Exception, match="a mistake of the script"):
            future.wait()
    for work in works.values():
        work.wait()
    tensors, works = all_reduce(members, groups)
    works[0].wait()
    assert tensors[0].tolist() == [4, 4, 4]


def test_a_callback_may_wait_for_another_collective(members):
    """As the hook PowerSGD does."""
    groups = members.group()

    def use(rank):
        def again(future):
            return groups[rank].allreduce([future.value()[0]]).get_future().wait()[0]

        return groups[rank].allreduce([torch.ones(1)]).get_future().then(again).wait().item()

    assert members.each(use) == dict.fromkeys(range(SIZE), 16.0)


def test_a_failure_reaches_futures_as_an_error(members):
    groups = members.group()
    work = groups[0].barrier()
    future = work.get_future()
    members.fabric.server.fail("the switch died")
    with pytest.raises(Exception, match="the switch died"):
        future.wait()


def test_a_group_that_a_rank_destroyed_is_refused_there_and_others_go_on(members):
    old, new = members.group(), members.group()
    members.each(lambda rank: old[rank].shutdown())
    for call in (lambda: old[1].allreduce([torch.ones(2)]), lambda: old[1].barrier()):
        with pytest.raises(ValueError, match="rank 1 destroyed this process group before: make another one"):
            call()
    assert members.each(lambda rank: broadcast(new[rank], rank)) == dict.fromkeys(range(SIZE), 1.0)


def test_uneven_parts_arrive_where_they_belong(members):
    groups = members.group()

    def use(rank):
        gives = [other + 1 for other in range(SIZE)]
        found = torch.zeros(SIZE * (rank + 1), 2)
        groups[rank].all_to_all_single(found, torch.full((sum(gives), 2), float(rank)), [rank + 1] * SIZE, gives).wait()
        return found[:, 1].tolist()

    assert members.each(use) == {
        rank: [float(other) for other in range(SIZE) for _ in range(rank + 1)] for rank in range(SIZE)
    }


def test_collectives_of_one_rank_run_in_the_order_of_its_program(members):
    groups = members.group()

    def use(rank):
        tensor = torch.tensor([rank])
        works = [groups[rank].allreduce([tensor]) for _ in range(3)]
        works.append(groups[rank].broadcast([tensor], options(dist.BroadcastOptions, rootRank=0)))
        for work in works:
            work.wait()
        return tensor.item()

    assert members.each(use) == dict.fromkeys(range(SIZE), 6 * 16)


def test_coalesced_collectives_are_one(members):
    groups = members.group()

    def use(rank):
        group = groups[rank]
        both = [torch.full((2,), float(rank)), torch.tensor([rank])]
        group.allreduce_coalesced(both).wait()
        gathered = [torch.zeros(SIZE), torch.zeros(SIZE, 2)]
        group.all_gather_single_coalesced(gathered, [torch.tensor([1.0 + rank]), torch.tensor([[9.0, rank]])]).wait()
        parts = [torch.zeros(1), torch.zeros(2)]
        group.reduce_scatter_single_coalesced(parts, [torch.arange(4.0), torch.arange(8.0)]).wait()
        return [tensor.tolist() for tensor in (*both, *gathered, *parts)]

    for rank, found in members.each(use).items():
        assert found == [
            [6.0, 6.0], [6], [1.0, 2.0, 3.0, 4.0], [[9.0, 0.0], [9.0, 1.0], [9.0, 2.0], [9.0, 3.0]], [4.0 * rank],
            [8.0 * rank, 8.0 * rank + 4],
        ]  # fmt: skip


def test_threads_that_callbacks_block_are_not_missed(members):
    """More works than threads, each waiting in its callback for the next."""
    groups = members.group()
    gate = threading.Event()
    done = threading.Semaphore(0)

    def wait(_):
        gate.wait(20)
        done.release()

    works = [members.each(lambda rank: groups[rank].allreduce([torch.ones(1)]))[0] for _ in range(8)]
    for work in works:
        work.get_future().add_done_callback(lambda future: None)
    pending = members.each(lambda rank: groups[rank].barrier(), (0, 1, 2))
    pending[0].get_future().add_done_callback(wait)
    groups[3].barrier()
    assert broadcast_all(members, groups) == dict.fromkeys(range(SIZE), 1.0)
    gate.set()
    assert done.acquire(timeout=20)


def broadcast_all(members, groups):
    return members.each(lambda rank: broadcast(groups[rank], rank))
