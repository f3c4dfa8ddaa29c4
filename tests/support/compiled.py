"""What tests of compiled modules need: they skip where the source runs."""

from __future__ import annotations

import pytest

from workloads.native.compiled import compiled_status

__all__ = ["needs_compiled"]

needs_compiled = pytest.mark.skipif(not compiled_status().available, reason="the modules are not compiled")
