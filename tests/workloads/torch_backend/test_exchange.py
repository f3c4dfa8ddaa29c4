"""What ranks leave in the store: generations of a group share no key, and spoilt values fail at their rank."""

import time

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the backend of torch.distributed is not tested")
import torch.distributed as dist  # noqa: E402

from tests.workloads.torch_backend.members import SIZE, Members, broadcast  # noqa: E402
from workloads.torch_backend.exchange import StoreProblem  # noqa: E402


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
