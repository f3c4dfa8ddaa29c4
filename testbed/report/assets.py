"""What a page carries along, so that it needs nothing from outside: style, script, and uPlot (MIT) with its licence."""

from __future__ import annotations

import base64
import json
import zlib
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["script_of", "style"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


@cache
def _text(name: str) -> str:
    return resources.files("testbed.report").joinpath(name).read_text(encoding="utf-8")


def style() -> str:
    """Also forbids the page to fetch anything."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    return f"{policy}<style>{_text('uplot/uPlot.min.css')}\n{_text('page.css')}</style>"


def script_of(data: dict[str, Any]) -> str:
    """`data`: what the script draws."""
    return (
        f'<script type="application/octet-stream" id="data">{_carried(data)}</script>\n'
        f"<script>/*\n{_text('uplot/LICENSE')}\n*/\n{_text('uplot/uPlot.iife.min.js')}</script>\n"
        f"<script>{_text('page.js')}</script>\n"
    )


def _carried(data: dict[str, Any]) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
