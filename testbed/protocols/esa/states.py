"""How the states of ESA are visited."""

from __future__ import annotations

from testbed.protocols.parts.states_server import explored_with_server

__all__ = ["EXPLORED"]

EXPLORED = explored_with_server("esa", {"job.priority": "srpt"})
