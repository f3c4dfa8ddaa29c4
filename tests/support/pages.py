"""What a report's page shows, and what its script gets."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

__all__ = ["data_of", "rows_of_links", "without_scripts"]

_CELL = r"<t(?:h|d)\b[^>]*>(?:<label>.*?>)?([^<]*)<"


def data_of(page: str) -> dict[str, Any]:
    carried = page.split('id="data">')[1].split("</script>")[0]
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(carried)))
    return found


def without_scripts(page: str) -> str:
    """As a browser without JavaScript has it."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


def rows_of_links(page: str) -> list[dict[str, str]]:
    """By head of the column; all tables, one after the other."""
    return [
        dict(zip(re.findall(r'<th scope="col">([^<]*)', table), re.findall(_CELL, row), strict=True))
        for table in re.findall(r'<table class="links">(.*?)</table>', page)
        for row in re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1])
    ]
