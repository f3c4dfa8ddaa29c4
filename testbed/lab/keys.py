"""Private keys by reference. What is read here goes to the SSH library only; messages name the reference, never the
key."""

from __future__ import annotations

import io
import os
from typing import Any

from testbed.lab.model import Host, KeyReference
from workloads.errors import LabError

__all__ = ["authentication"]


def authentication(host: Host) -> dict[str, Any]:
    """Arguments of paramiko's connect. Raises LabError when the reference leads to no key."""
    key = host.key
    none = {"look_for_keys": False, "allow_agent": False}
    if key.agent:
        if not os.environ.get("SSH_AUTH_SOCK"):
            raise LabError(host.name, "its key is in an SSH agent, but there is none (SSH_AUTH_SOCK is not set)")
        return none | {"allow_agent": True}
    passphrase = None
    if key.passphrase_env is not None:
        passphrase = _variable(host, key.passphrase_env)
    return none | {"pkey": _load(host, key, passphrase)}


def _variable(host: Host, name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise LabError(host.name, f"its key is in the environment variable {name}, which is not set")
    return value


def _load(host: Host, key: KeyReference, passphrase: str | None) -> Any:
    from paramiko import ECDSAKey, Ed25519Key, PasswordRequiredException, PKey, RSAKey, SSHException

    text = "" if key.env is None else _variable(host, key.env)
    secret = None if passphrase is None else passphrase.encode()
    try:
        if key.file is not None:
            return PKey.from_path(key.file, secret)
        for kind in (Ed25519Key, ECDSAKey, RSAKey):
            try:
                return kind.from_private_key(io.StringIO(text), passphrase)
            except PasswordRequiredException:
                raise
            except (SSHException, ValueError, IndexError):
                continue
    except FileNotFoundError:
        raise LabError(host.name, f"its key file {key.file} is not there") from None
    except (PasswordRequiredException, TypeError):
        raise LabError(
            host.name, f"its key {key.file or key.env} has a passphrase; name its variable in key.passphrase_env"
        ) from None
    except OSError as error:
        raise LabError(host.name, f"its key file {key.file} cannot be read: {error.strerror}") from None
    except Exception:
        # Whatever a parser of keys says may hold a part of the key.
        pass
    raise LabError(
        host.name, f"{key.file or key.env} holds no private key that can be read, or the passphrase is wrong"
    )
