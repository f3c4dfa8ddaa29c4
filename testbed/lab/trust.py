"""Host keys that a lab trusts: its own known_hosts file, in OpenSSH's format, where a host stands under its name in the
inventory. Nothing is added but by `record`, after a person saw the fingerprint.

Names and not addresses: behind different jump hosts one address may belong to two machines.
"""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

from workloads.errors import LabError, ScenarioError

__all__ = ["TRUST_PORT", "fingerprint", "known_keys", "record", "trusted"]

TRUST_PORT = 22
"""port for the SSH library, so that a name stands in the file without a port"""


def fingerprint(key: Any) -> str:
    """As `ssh-keygen -l` prints it. `key`: a paramiko PKey."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")


def known_keys(path: Path) -> Any:
    """paramiko HostKeys of the file; empty when there is none. Raises ScenarioError when it cannot be read."""
    from paramiko import HostKeys
    from paramiko.hostkeys import InvalidHostKey

    keys = HostKeys()
    try:
        keys.load(str(path))
    except FileNotFoundError:
        pass
    except (OSError, InvalidHostKey) as error:
        raise ScenarioError(f"cannot be read as known_hosts: {error}", file=str(path)) from error
    return keys


def trusted(path: Path, name: str) -> dict[str, str]:
    """Type of key -> fingerprint, of one host."""
    found = known_keys(path).lookup(name) or {}
    return {kind: fingerprint(key) for kind, key in found.items()}


def record(path: Path, name: str, key: Any, *, replace: bool = False) -> bool:
    """Trust `key` for host `name` from now on; False when the file holds it already. Raises LabError when it holds
    another one, unless that is to be replaced."""
    held = trusted(path, name)
    if set(held.values()) == {fingerprint(key)}:
        return False
    if held and not replace:
        raise LabError(
            name,
            f"its host key is {fingerprint(key)}, but {path} trusts {', '.join(sorted(held.values()))}; "
            f"if the host was installed again: tb lab trust --replace {name}",
        )
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in lines if line.split(" ", 1)[0] != name]
    kept.append(f"{name} {key.get_name()} {key.get_base64()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text("\n".join(kept) + "\n", encoding="utf-8")
    fresh.replace(path)
    return True
