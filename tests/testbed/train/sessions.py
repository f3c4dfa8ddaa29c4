"""Posts, and sessions whose actions are listed."""

from testbed.train.session import Fail, TrainingSession
from workloads.ranks.wire import Post

SECOND = 1_000_000_000
TIMEOUT = 30 * SECOND


def post(number, elements=100, *, what="all_reduce", dtype="float32", op="sum", in_network=True):
    return Post(number, what, dtype, op, elements, in_network, 0)


def barrier(number):
    return Post(number, "barrier", "", "", -1, False, 0)


def actions(session):
    found = []
    while (action := session.next_action()) is not None:
        found.append(action)
    return found


def joined(size=2):
    session = TrainingSession(size, TIMEOUT)
    for rank in range(size):
        assert session.join(rank, 0) is None
    return session


def failure(session):
    """The one reason that everybody hears."""
    (fail,) = [action for action in actions(session) if isinstance(action, Fail)]
    assert session.failure == fail.reason
    assert session.is_over
    assert session.get_timer() is None
    return fail.reason
