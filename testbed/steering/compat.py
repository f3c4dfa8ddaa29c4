"""The one place that imports an OpenFlow library: os-ken, or ryu. os-ken continues ryu with the same application
interface. Import it only where a controller runs; `has_library` reports whether there is one.

Ryu 4.34 asks eventlet for a name that newer ones do not have any more, so it gets one before it looks.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from workloads.errors import HostCapabilityError

__all__ = ["OpenFlowParts", "library_name", "library_parts"]

_DISTRIBUTIONS = {"os_ken": "os-ken", "ryu": "ryu"}
"""package -> distribution; the first that is there is taken"""


def library_name() -> str | None:
    """os-ken 4.2.2; None when there is no library. Imports nothing."""
    package = _find()
    try:
        return None if package is None else f"{_DISTRIBUTIONS[package]} {version(_DISTRIBUTIONS[package])}"
    except PackageNotFoundError:
        return _DISTRIBUTIONS[str(package)]


def _find() -> str | None:
    return next((package for package in _DISTRIBUTIONS if find_spec(package) is not None), None)


class OpenFlowParts:
    """What we use of the library, by the names that both have."""

    def __init__(self, package: str) -> None:
        if package == "ryu":
            _restore_already_handled()
        self.hub: Any = import_module(f"{package}.lib.hub")
        # ryu lives on green threads, which must replace the blocking calls before anything else is imported; does
        # nothing on native ones.
        self.hub.patch()
        self.cfg: Any = import_module(f"{package}.cfg")
        # before the controller, as the two import each other
        self.app_manager: Any = import_module(f"{package}.base.app_manager")
        # registers the options of OpenFlow
        self.controller: Any = import_module(f"{package}.controller.controller")
        self.ofp_event: Any = import_module(f"{package}.controller.ofp_event")
        self.handler: Any = import_module(f"{package}.controller.handler")
        self.ofproto: Any = import_module(f"{package}.ofproto.ofproto_v1_5")
        self.parser: Any = import_module(f"{package}.ofproto.ofproto_v1_5_parser")
        self.handshake = f"{package}.controller.ofp_handler"
        self.app_base: Any = self.app_manager.OSKenApp if package == "os_ken" else self.app_manager.RyuApp


def _restore_already_handled() -> None:
    wsgi: Any = import_module("eventlet.wsgi")
    if not hasattr(wsgi, "ALREADY_HANDLED"):
        wsgi.ALREADY_HANDLED = object()


_parts: list[OpenFlowParts] = []


def library_parts() -> OpenFlowParts:
    """Raises HostCapabilityError when no library is there."""
    if not _parts:
        package = _find()
        if package is None:
            raise HostCapabilityError(
                "an OpenFlow library (os-ken)", "run ./tb once, or `pip install os-ken` in its environment"
            )
        _parts.append(OpenFlowParts(package))
    return _parts[0]
