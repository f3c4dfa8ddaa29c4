"""The few files of /etc that the guest's tools read. Never the whole folder: what the guest prints may be published."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["STAGED", "stage_etc"]

STAGED = (
    "alternatives", "libibverbs.d", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "iproute2", "protocols", "services",
    "ethertypes", "nsswitch.conf",
)  # fmt: skip
"""copied where they exist"""
_GENERATED = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n127.0.1.1 guest\n",
    "hostname": "guest\n",
}


def stage_etc(source: Path, target: Path) -> None:
    """Make `target` from scratch."""
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    for name in STAGED:
        found = source / name
        if found.is_dir():
            shutil.copytree(found, target / name, symlinks=True)
        elif found.is_file():
            shutil.copy2(found, target / name)
    for name, text in _GENERATED.items():
        (target / name).write_text(text, encoding="utf-8")
