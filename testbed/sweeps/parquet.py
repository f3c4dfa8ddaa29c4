"""results.parquet, for who has pyarrow."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workloads.errors import HostCapabilityError
from workloads.trusted import write_file

__all__ = ["require_parquet", "write_parquet"]


def require_parquet() -> Any:
    """The module `pyarrow.parquet`. Raises HostCapabilityError where there is none."""
    try:
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise HostCapabilityError(
            f"the Python package pyarrow for {sys.executable}", "to have it: pip install 'ina-testbed[parquet]'"
        ) from error
    return pyarrow.parquet


def write_parquet(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Rows with the same keys; a column without a value in any row is one of text."""
    parquet = require_parquet()
    import pyarrow as pa

    columns = {name: pa.array([row[name] for row in rows]) for name in rows[0]}
    text = {name: found.cast(pa.string()) if pa.types.is_null(found.type) else found for name, found in columns.items()}
    data = io.BytesIO()
    parquet.write_table(pa.table(text), data)
    write_file(path, data.getvalue())
