"""The hosts of a repair job: donors, and the newcomer that gets the lost block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily
from workloads.repair.config import CodeShare, RepairConfig

if TYPE_CHECKING:
    from workloads.repair.hosts import create_host

__all__ = ["CodeShare", "RepairConfig", "create_host"]

__getattr__ = lazily(__name__, {"create_host": ".hosts"})
