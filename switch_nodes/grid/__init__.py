"""The GRID switch program: aggregates what is addressed to it, forwards the rest by the routes of a plan."""
