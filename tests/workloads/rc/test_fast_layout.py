"""What the parts of RC in C and in Python have to agree on: rows and structs."""

from __future__ import annotations

import pytest

from tests.support.native import needs_native
from tests.support.rc_pair import pair_configs
from workloads.errors import InternalError
from workloads.machine import FrameBatch
from workloads.native.build import load_library
from workloads.rc import RcEndpoint, SendRequest, fast

MTU = 256
needs_c = needs_native("rc_fast")


@needs_c
def test_rows_that_are_too_small_are_refused() -> None:
    end = RcEndpoint()
    a, _ = pair_configs()
    end.add_qp(a)
    end.post_send(a.qpn, SendRequest(1, (bytes(10 * MTU),)), 0)
    with pytest.raises(ValueError, match=r"does not fit a row of 300|could not broadcast"):
        end.fill_batch(FrameBatch.of(8, 300), 0)


@needs_c
def test_structs_are_those_of_the_c_part(monkeypatch: pytest.MonkeyPatch) -> None:
    library = load_library("rc_fast")
    assert library is not None
    fast._functions.cache_clear()
    fast._functions(library)
    monkeypatch.setattr(fast, "CONTEXT_BYTES", fast.CONTEXT_BYTES + 8)
    fast._functions.cache_clear()
    with pytest.raises(
        InternalError, match=r"struct rc_qp_context and its mirror in Python differ: size in bytes: 368 in C, 376"
    ):
        fast._functions(library)
