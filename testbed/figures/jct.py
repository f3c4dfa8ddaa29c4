"""The parts of the job completion time as figures."""

from __future__ import annotations

from typing import Any

from testbed.checkers.context import CheckContext
from testbed.jct import PARTS, jct_parts

__all__ = ["parts_metrics"]


def parts_metrics(context: CheckContext) -> dict[str, Any]:
    """For `jct` of the metrics. `path_ns`: ns by part on the critical path, whose sum is `jct_s`; `parts`: the same as
    shares. `workers_ns`: ns by part of each worker, whose sum is the completion time of its job. All None with
    `unknown`, the reason."""
    found = jct_parts(context)
    if found.unknown:
        return {"parts": None, "path_ns": None, "workers_ns": None, "unknown": found.unknown}
    whole = sum(found.path.values())
    return {
        "parts": {str(part): found.path[part] / whole if whole else 0.0 for part in PARTS},
        "path_ns": {str(part): found.path[part] for part in PARTS},
        "workers_ns": {name: {str(part): parts[part] for part in PARTS} for name, parts in found.workers.items()},
        "unknown": None,
    }
