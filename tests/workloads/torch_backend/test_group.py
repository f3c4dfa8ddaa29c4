"""A process group whose ranks are threads: agreement, time limits, generations, callbacks, tensors of every kind."""

import threading
import time
from datetime import timedelta

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the backend of torch.distributed is not tested")
import torch.distributed as dist  # noqa: E402

from tests.workloads.torch_backend.members import SIZE, Members, options  # noqa: E402
from workloads.ranks.client import NetworkFailed  # noqa: E402
from workloads.torch_backend import membership  # noqa: E402
from workloads.torch_backend.exchange import StoreProblem  # noqa: E402
from workloads.torch_backend.work import CollectiveTimeout  # noqa: E402


@pytest.fixture
def members(tmp_path):
    made = Members(tmp_path)
    yield made
    made.close()


def broadcast(group, value, root=1):
    tensor = torch.tensor([float(value)], dtype=torch.float64)
    group.broadcast([tensor], options(dist.BroadcastOptions, rootRank=root)).wait()
    return tensor.item()


def reasons(found):
    """The one reason that every rank heard."""
    assert all(isinstance(error, NetworkFailed) for error in found.values()), found
    (reason,) = {str(error) for error in found.values()}
    return reason


# Generations.


def stores(folder):
    server = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
    return {"hash": dist.HashStore(), "file": dist.FileStore(str(folder / "store"), -1), "tcp": server}


@pytest.mark.parametrize("kind", ["hash", "file", "tcp"])
def test_a_group_that_is_made_again_reads_nothing_of_the_one_before_and_leaves_nothing(members, tmp_path, kind):
    store = stores(tmp_path)[kind]
    base = dist.PrefixStore("0/cpu/", store)
    before = store.num_keys()
    for turn in range(3):
        groups = members.group(store=base)

        def use(rank, groups=groups, turn=turn):
            if rank == 1:
                time.sleep(0.1)  # the others read first
            parts = [torch.zeros(1, dtype=torch.int64) for _ in range(SIZE)]
            value = broadcast(groups[rank], 10 * turn + rank)
            groups[rank].allgather([parts], [torch.tensor([100 * turn + rank])]).wait()
            groups[rank].shutdown()
            return value, [part.item() for part in parts]

        right = 10.0 * turn + 1, [100 * turn + rank for rank in range(SIZE)]
        assert members.each(use) == dict.fromkeys(range(SIZE), right)
        # A file only grows: it counts a key that was removed, too.
        if kind != "file":
            assert store.num_keys() == before


def test_what_was_never_read_is_removed_with_the_group(members, monkeypatch):
    groups = members.group()
    monkeypatch.setattr("workloads.torch_backend.exchange._CLOSE_S", 0.1)
    groups[0]._here.exchange.put("left", [torch.ones(2)], 1)
    assert members.store.num_keys() == 1
    members.each(lambda rank: groups[rank].shutdown())
    assert members.store.num_keys() == 0


def test_a_store_that_is_gone_is_asked_once(members):
    """Torch prints a stack for each question."""
    asked = []

    class Gone:
        def _ask(self, *_):
            asked.append(1)
            raise dist.DistNetworkError("Broken pipe")

        check = delete_key = _ask

    exchange = members.group()[0]._here.exchange
    for place in "abc":
        exchange.put(place, [torch.ones(2)], 1)
    exchange._store = Gone()
    exchange.close()
    assert len(asked) == 1


def test_two_trainings_over_one_store_share_no_key(members, tmp_path):
    """A server that was killed leaves its values: the next one has other keys for the same group."""
    (tmp_path / "other").mkdir()
    other = Members(tmp_path / "other")
    places = {made.group(store=members.store)[0]._here.exchange._prefix for made in (members, other)}
    other.close()
    assert len(places) == 2


def test_what_a_group_left_unread_is_no_value_of_the_next_one(members):
    """The old group never ended in order."""
    old = members.group()
    members.each(lambda rank: old[rank]._here.exchange.put("1/all", [torch.tensor([-1.0])], SIZE))
    groups = members.group()

    def use(rank):
        if rank == 1:
            time.sleep(0.2)  # the others read first
        return broadcast(groups[rank], rank)

    assert members.each(use) == dict.fromkeys(range(SIZE), 1.0)


def test_groups_of_the_same_name_and_of_other_ranks_do_not_meet(members):
    left, right = members.group((0, 1), name="a"), members.group((2, 3), name="a")
    pairs = {**left, **right}
    assert members.each(lambda rank: broadcast(pairs[rank], rank)) == {0: 1.0, 1: 1.0, 2: 3.0, 3: 3.0}


@pytest.mark.parametrize(
    ("data", "cause"), [(b"spoilt", "cannot be loaded: "), (None, "is no list of tensors: dict")], ids=["bytes", "type"]
)
def test_a_value_that_cannot_be_loaded_names_the_key_and_the_cause(members, tmp_path, data, cause):
    if data is None:
        torch.save({"a": 1}, tmp_path / "value")
        data = (tmp_path / "value").read_bytes()
    groups = members.group()
    exchange = groups[0]._here.exchange
    exchange._store.set(f"{exchange._prefix}/7/mail", data)
    with pytest.raises(StoreProblem, match=f"what rank 2 left at {exchange._prefix}/7/mail {cause}"):
        exchange.get("7/mail", 1, 5.0, 2)


def test_a_spoilt_value_fails_the_work_at_its_rank(members, monkeypatch):
    groups = members.group()
    exchange = groups[2]._here.exchange
    monkeypatch.setattr(exchange, "_store", SpoiltStore(members.store))
    found = members.each(lambda rank: broadcast(groups[rank], rank))
    assert "rank 2 could not complete broadcast: StoreProblem: what rank 1 left at ina/" in str(found.pop(2))
    assert found == dict.fromkeys(found, 1.0)


class SpoiltStore:
    def __init__(self, store):
        self._store = store

    def __getattr__(self, name):
        return getattr(self._store, name)

    def get(self, key):
        return self._store.get(key)[:-40]


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


# Tensors.


def overlapping(kind):
    match kind:
        case "expanded":
            return torch.ones(1).expand(10)
        case "a row again and again":
            return torch.ones(4).expand(3, 4)
        case "windows":
            return torch.arange(8.0).as_strided((4, 3), (1, 1))
        case "sparse":
            return torch.eye(3).to_sparse()
        case "sparse rows":
            return torch.eye(3).to_sparse_csr()
        case "meta":
            return torch.ones(3, device="meta")
        case "nested":
            return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    raise AssertionError(kind)


@pytest.mark.parametrize(
    "kind", ["expanded", "a row again and again", "windows", "sparse", "sparse rows", "meta", "nested"]
)
@pytest.mark.parametrize(
    "call",
    [
        lambda g, t: g.allreduce([t]),
        lambda g, t: g.broadcast([t], options(dist.BroadcastOptions, rootRank=1)),
        lambda g, t: g.reduce([t], options(dist.ReduceOptions, rootRank=0)),
        lambda g, t: g.allgather([[t] * SIZE], [t]),
        lambda g, t: g.gather([[t] * SIZE], [t], options(dist.GatherOptions, rootRank=0)),
        lambda g, t: g.scatter([t], [[t] * SIZE], options(dist.ScatterOptions, rootRank=0)),
        lambda g, t: g.reduce_scatter([t], [[t] * SIZE]),
        lambda g, t: g.alltoall([t] * SIZE, [t] * SIZE),
        lambda g, t: g.recv([t], 1),
    ],
    ids=[
        "all_reduce",
        "broadcast",
        "reduce",
        "all_gather",
        "gather",
        "scatter",
        "reduce_scatter",
        "all_to_all",
        "recv",
    ],
)
def test_a_tensor_that_cannot_hold_the_result_is_refused_at_the_call(one, call, kind):
    with pytest.raises(ValueError, match=r"elements share memory|dense tensors in the processor's memory"):
        call(one, overlapping(kind))


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """Rank 0 of a group in which nothing is ever posted."""
    made = Members(tmp_path_factory.mktemp("refusals"))
    yield made.group()[0]
    made.close()


def views(rank):
    base = torch.arange(24.0).reshape(4, 6) + rank
    return {
        "transposed": base.T, "every other": base[:, ::2], "negative part": torch.view_as_complex(
            torch.stack([base, base], -1)).conj().imag, "slice": base[1:3], "scalar": base[0, 0], "empty": base[:0],
        "half": base.half(), "bfloat16": base.bfloat16(), "complex": base.to(torch.complex64),
        "conjugate": base.to(torch.complex64).conj(), "leaf": base.requires_grad_(), "bool": base > 3,
        "uint8": base.to(torch.uint8), "int64": base.long(), "inside": base.detach()[2, 1:4],
    }  # fmt: skip


@pytest.mark.parametrize("kind", list(views(0)))
def test_tensors_of_every_kind_are_summed_and_moved_outside_of_autograd(members, kind):
    groups = members.group()
    inputs = [views(rank)[kind] for rank in range(SIZE)]
    right_sum = inputs[0].detach().clone()
    for value in inputs[1:]:
        right_sum = right_sum + value.detach()

    def use(rank):
        group, tensor = groups[rank], views(rank)[kind]
        targets = [torch.empty_like(views(0)[kind], requires_grad=False) for _ in range(SIZE)]
        group.allgather([targets], [tensor]).wait()
        group.allreduce([tensor]).wait()
        copy = views(rank)[kind]
        group.broadcast([copy], options(dist.BroadcastOptions, rootRank=2)).wait()
        return tensor, targets, copy

    for tensor, targets, copy in members.each(use).values():
        torch.testing.assert_close(tensor.detach(), right_sum, rtol=0, atol=0)
        torch.testing.assert_close(copy.detach(), inputs[2].detach(), rtol=0, atol=0)
        for target, value in zip(targets, inputs, strict=True):
            torch.testing.assert_close(target, value.detach(), rtol=0, atol=0)
            assert not target.requires_grad


@pytest.mark.parametrize(
    ("dtype", "values", "right"),
    [
        (torch.int64, [-1, -2, -3, 0], -1),
        (torch.int32, [1, 2, 3, 1], 1),
        (torch.uint8, [200, 100, 0, 0], 11),  # 300 wraps to 44
        (torch.float64, [1, 2, 3, 1], 1.75),
        (torch.float16, [1, 2, 3, 1], 1.75),
        (torch.complex64, [1j, 1, 0, 0], 0.25 + 0.25j),
    ],
)
def test_the_mean_of_integers_is_cut_towards_zero(members, dtype, values, right):
    groups = members.group()
    wanted = options(dist.AllreduceOptions, reduceOp=dist.ReduceOp.AVG)
    tensors = [torch.tensor([value], dtype=dtype) for value in values]
    members.each(lambda rank: groups[rank].allreduce([tensors[rank]], wanted).wait())
    assert [tensor.item() for tensor in tensors] == [right] * SIZE


@pytest.mark.parametrize(
    ("op", "dtype", "told"),
    [
        (dist.ReduceOp.AVG, torch.bool, "cannot do all_reduce .avg. of bool: truth values have no mean"),
        (dist.ReduceOp.MAX, torch.complex64, "cannot do all_reduce .max. of complex64"),
        (dist.ReduceOp.BAND, torch.float32, "cannot do all_reduce .band. of float32"),
    ],
)
def test_a_reduction_that_a_dtype_does_not_have_is_refused_at_the_call(one, op, dtype, told):
    with pytest.raises(ValueError, match=told):
        one.allreduce([torch.ones(2, dtype=dtype)], options(dist.AllreduceOptions, reduceOp=op))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda g: g.all_gather_single(torch.ones(3), torch.ones(1)), "cannot divide 3 elements among 4 ranks"),
        (lambda g: g.all_gather_single(torch.ones(8), torch.ones(1)), "cannot put 1 elements of float32 into a"),
        (lambda g: g.all_gather_single(torch.ones(4), torch.ones(1).long()), "cannot put 1 elements of int64 into"),
        (lambda g: g.allgather([[torch.ones(1)]], [torch.ones(1)]), "wants one tensor for each of 4 ranks"),
        (lambda g: g.reduce_scatter_single(torch.ones(2), torch.ones(4)), "cannot put 1 elements"),
        (lambda g: g.all_to_all_single(torch.ones(4), torch.ones(4), [1, 1, 1], []), "cannot cut 4 rows into"),
        (lambda g: g.all_to_all_single(torch.ones(4), torch.ones(5), [], []), "cannot divide a tensor of shape"),
        (lambda g: g.all_to_all_single(torch.ones(4), torch.ones(4), [2, 0, 1, 1], []), "cannot put 1 elements"),
        (lambda g: g.allreduce([torch.ones(1), torch.ones(1)]), "one tensor at a time"),
        (lambda g: g.allreduce_coalesced([]), "was given no tensor"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_fit_are_refused_at_the_call(one, call, told):
    with pytest.raises(ValueError, match=told):
        call(one)


@pytest.mark.parametrize("rank", [-1, SIZE, 99])
@pytest.mark.parametrize(
    "call",
    [
        lambda g, t, rank: g.broadcast([t], options(dist.BroadcastOptions, rootRank=rank)),
        lambda g, t, rank: g.reduce([t], options(dist.ReduceOptions, rootRank=rank)),
        lambda g, t, rank: g.gather([[t] * SIZE], [t], options(dist.GatherOptions, rootRank=rank)),
        lambda g, t, rank: g.scatter([t], [[t] * SIZE], options(dist.ScatterOptions, rootRank=rank)),
        lambda g, t, rank: g.send([t], rank),
        lambda g, t, rank: g.recv([t], rank),
    ],
    ids=["broadcast", "reduce", "gather", "scatter", "send", "recv"],
)
def test_a_rank_that_the_group_does_not_have_is_refused_at_the_call(one, call, rank):
    with pytest.raises(ValueError, match=f"was given rank {rank} of the process group; allowed: 0 to 3"):
        call(one, torch.ones(2), rank)


@pytest.mark.parametrize("limit", [0, -5])
def test_a_group_without_time_is_refused(one, limit):
    with pytest.raises(ValueError, match=f"a timeout of {limit} s; allowed: above 0"):
        one.set_timeout(timedelta(seconds=limit))


@pytest.mark.parametrize("name", ["announce", "post_sum"])
def test_a_call_that_fails_leaves_nothing_to_wait_for(members, monkeypatch, name):
    def fail(*_, **__):
        raise MemoryError("no room")

    groups = members.group()
    with monkeypatch.context() as patched:
        patched.setattr(members.ranks[2].client, name, fail)
        with pytest.raises(MemoryError, match="no room"):
            groups[2].allreduce([torch.ones(2, dtype=torch.float32 if name == "post_sum" else torch.float64)])
    began = time.monotonic()
    assert members.each(lambda rank: groups[rank].shutdown()) == dict.fromkeys(range(SIZE))
    assert time.monotonic() - began < 5


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
