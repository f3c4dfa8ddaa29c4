from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily
from workloads.native.compiled import install

if TYPE_CHECKING:
    from workloads.fallback import create_worker

__all__ = ["create_worker"]

install()
__getattr__ = lazily(__name__, {"create_worker": ".fallback"})
