"""One module for each collective: it binds the parts of the protocol, which live with their layers, into one value.

`NAMES` lists them; `testbed.scenario.known` finds the value by its name, in the module of that name.
"""

__all__ = ["NAMES"]

NAMES = (
    "netreduce",
    "switchml",
    "atp",
    "esa",
    "grid",
    "ring",
    "shift",
    "parallel_netreduce",
    "tencent",
)
"""as in `job.collective`, in the order of `tb list collectives`"""
