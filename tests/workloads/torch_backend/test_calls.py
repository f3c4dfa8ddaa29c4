"""How ranks meet before torch's own rendezvous: with the rank, size and time limit of the call."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the backend of torch.distributed is not tested")
import torch.distributed as dist  # noqa: E402

from workloads.torch_backend import calls, register  # noqa: E402

LIMIT = timedelta(seconds=5)


class MetError(Exception):
    """With the rank, the size and the time limit."""


@pytest.fixture
def init(monkeypatch):
    def this_rank(rank, size):
        def meet(limit_s):
            raise MetError(rank, size, limit_s)

        return SimpleNamespace(meet=meet)

    register()
    monkeypatch.setattr(calls, "this_rank", this_rank)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    return dist.init_process_group


@pytest.mark.parametrize(
    ("positional", "named", "met"),
    [
        (("ina",), {}, (1, 2, 0.0)),
        (("ina",), {"timeout": LIMIT, "rank": 3, "world_size": 4}, (3, 4, 5.0)),
        (("cpu:ina", None, LIMIT), {}, (1, 2, 5.0)),
        (("ina", None, LIMIT, 4, 3), {}, (3, 4, 5.0)),
        ((), {"backend": "ina", "timeout": LIMIT}, (1, 2, 5.0)),
    ],
)
def test_ranks_meet_as_the_call_says(init, positional, named, met):
    with pytest.raises(MetError) as caught:
        init(*positional, **named)
    assert caught.value.args == met


@pytest.mark.parametrize("timeout", [5, "5s"])
def test_a_timeout_of_another_type_is_refused_by_torch(init, timeout):
    with pytest.raises(TypeError, match="timeout"):
        init("ina", timeout=timeout)
