"""Tables for pandas, which is an optional extra: it is imported when a table is asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from workloads.errors import HostCapabilityError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["make_frame"]


def make_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """One row each; columns in the order in which they are first met. Raises HostCapabilityError where there is no
    pandas."""
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise HostCapabilityError(
            f"the Python package pandas for {sys.executable}", "to have it: pip install 'ina-testbed[pandas]'"
        ) from error
    return pd.DataFrame.from_records(list(rows))
