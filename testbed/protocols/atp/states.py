"""How the states of ATP are visited."""

from __future__ import annotations

from testbed.protocols.parts.states_server import explored_with_server

__all__ = ["EXPLORED"]

EXPLORED = explored_with_server("atp", {})
