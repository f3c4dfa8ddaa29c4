"""One folder for each protocol: its class, `PROTOCOL`, its keys, checks, plan and hunt. The folder's name is the
protocol's; no list of them exists."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from testbed.checkers.contract import Part
    from testbed.hunt.contract import Hunt, Protocol
    from testbed.hunt.kinds import DatagramHunt, PairsHunt
    from testbed.scenario.protocols.protocol import KeyGroup, ResultKind

_SHARED = "parts"
"""The folder of what several protocols bind alike"""
__all__ = ["DatagramHunt", "Hunt", "KeyGroup", "PairsHunt", "Part", "Protocol", "ResultKind", "names"]


@cache
def names() -> tuple[str, ...]:
    """As in `job.protocol`, in the order of `tb list protocols`: that of the alphabet."""
    return tuple(
        sorted(path.parent.name for path in Path(__file__).parent.glob("*/__init__.py") if path.parent.name != _SHARED)
    )


__getattr__ = lazily(
    __name__,
    {
        "DatagramHunt": "testbed.hunt.kinds",
        "Hunt": "testbed.hunt.contract",
        "KeyGroup": "testbed.scenario.protocols.protocol",
        "PairsHunt": "testbed.hunt.kinds",
        "Part": "testbed.checkers.contract",
        "Protocol": "testbed.hunt.contract",
        "ResultKind": "testbed.scenario.protocols.protocol",
    },
)
