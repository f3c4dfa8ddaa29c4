"""A TCP connection to a host of the lab: from here, from a network namespace of this machine, or through a jump
host."""

from __future__ import annotations

import socket

from testbed.kernel.namespaces import inside_path
from testbed.lab.model import Host
from workloads.errors import LabError

__all__ = ["dial"]


def dial(host: Host, timeout_s: float) -> socket.socket:
    """Raises LabError that names the host."""
    try:
        if host.namespace is None:
            return socket.create_connection((host.address, host.port), timeout_s)
        with inside_path(host.namespace):
            return socket.create_connection((host.address, host.port), timeout_s)
    except TimeoutError:
        raise LabError(
            host.name, f"unreachable: {host.address} port {host.port} did not answer within {timeout_s:g} s"
        ) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise LabError(host.name, f"unreachable: {host.address} port {host.port}: {reason}") from None
