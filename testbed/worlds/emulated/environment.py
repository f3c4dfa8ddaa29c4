"""What a run was made with, for its report."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable

from testbed.kernel.load import processors
from testbed.worlds.base import NODE_LIBRARIES, code_that_ran
from testbed.worlds.emulated.backends import Assignment, describe
from workloads.native.account import COMPILED

__all__ = ["environment"]


def environment(backends: Iterable[str], assignments: Iterable[Assignment], dilation: int) -> dict[str, str]:
    """`backends`: of the data planes; `assignments`: of faults."""
    import numpy

    from testbed.kernel.mininet_api import MININET_VERSION

    return {
        "kernel": os.uname().release,
        "machine": os.uname().machine,
        "cpus": str(processors()),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "mininet": MININET_VERSION,
        "data_plane": ", ".join(sorted(backends)),
        **code_that_ran(*NODE_LIBRARIES, COMPILED),
        "shaping": "htb",
        "dilation": str(dilation),
        "faults": "; ".join(describe(assignments)) or "none",
    }
