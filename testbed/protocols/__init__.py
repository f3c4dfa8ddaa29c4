"""One module for each collective: it binds the parts of the protocol, which live with their layers, into one value.

`NAMES` lists them; `testbed.scenario.known` finds the value by its name, in the module of that name.
"""

from testbed.scenario.protocol import Hunt, Protocol, Subject, Traits

__all__ = ["NAMES", "Hunt", "Protocol", "Subject", "Traits"]

NAMES = (
    "netreduce",
    "switchml",
    "atp",
    "esa",
    "grid",
    "ps",
    "ring",
    "shift",
    "parallel_netreduce",
    "tencent",
    "recursive_doubling",
    "rabenseifner",
)
"""as in `job.collective`, in the order of `tb list collectives`"""
