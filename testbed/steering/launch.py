"""Starts the library with our application: what `ryu-manager` does, which os-ken has no more."""

from __future__ import annotations

from testbed.steering.compat import library_parts
from testbed.steering.session import OpenFlowSession

__all__ = ["run_controller"]


def run_controller(session: OpenFlowSession, host: str = "127.0.0.1", port: int = 6653) -> None:
    """Never returns but when the library's threads end. The library itself listens on this address of the namespace
    that the calling thread is in; `session.listeners` come on top. Raises HostCapabilityError without a library."""
    parts = library_parts()
    from testbed.steering.app import SteeringApp

    SteeringApp.session = session
    options = ["--ofp-listen-host", host, "--ofp-tcp-listen-port", str(port)]
    parts.cfg.CONF(args=options, project="ina-testbed", default_config_files=[])
    parts.app_manager.AppManager.run_apps([SteeringApp.__module__, parts.handshake])
