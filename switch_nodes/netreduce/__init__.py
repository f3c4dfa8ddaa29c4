"""The NetReduce switch program: connection table, slots, status monitor, release order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from switch_nodes.config import SwitchConfig
    from switch_nodes.netreduce.fast import FastNetReduceProgram
    from switch_nodes.netreduce.program import NetReduceProgram

__all__ = ["FastNetReduceProgram", "NetReduceProgram", "create_netreduce"]


def create_netreduce(config: SwitchConfig) -> NetReduceProgram:
    """With the compiled fast path where it can be built, unless steps are traced. Raises ScenarioError for a
    configuration that cannot be installed."""
    from switch_nodes.forwarding.frame_queue import switch_library
    from switch_nodes.netreduce.fast import FastNetReduceProgram
    from switch_nodes.netreduce.program import NetReduceProgram

    library = None if config.trace else switch_library()
    return NetReduceProgram(config) if library is None else FastNetReduceProgram(config, library)


__getattr__ = lazily(__name__, {"FastNetReduceProgram": ".fast", "NetReduceProgram": ".program"})
