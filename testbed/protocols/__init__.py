"""One folder for each collective: `PROTOCOL`, its keys, checks, plan and hunt. The folder's name is the collective's;
no list of them exists."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from testbed.scenario.protocol import Hunt, Protocol, Traits

_SHARED = "parts"
"""The folder of what several protocols bind alike"""
__all__ = ["Hunt", "Protocol", "Traits", "names"]


@cache
def names() -> tuple[str, ...]:
    """As in `job.collective`, in the order of `tb list collectives`: that of the alphabet."""
    return tuple(
        sorted(path.parent.name for path in Path(__file__).parent.glob("*/__init__.py") if path.parent.name != _SHARED)
    )


__getattr__ = lazily(__name__, dict.fromkeys(("Hunt", "Protocol", "Traits"), "testbed.scenario.protocol"))
