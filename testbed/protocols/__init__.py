"""One module for each collective: it binds the parts of the protocol, which live with their layers, into one value,
`PROTOCOL`. The module's name is the collective's; nobody keeps a list of them."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from testbed.scenario.protocol import Hunt, Protocol, Subject, Traits

__all__ = ["Hunt", "Protocol", "Subject", "Traits", "names"]


@cache
def names() -> tuple[str, ...]:
    """As in `job.collective`, in the order of `tb list collectives`: that of the alphabet."""
    found = (path.stem for path in Path(__file__).parent.glob("*.py"))
    return tuple(sorted(name for name in found if name != "__init__"))


__getattr__ = lazily(__name__, dict.fromkeys(("Hunt", "Protocol", "Subject", "Traits"), "testbed.scenario.protocol"))
