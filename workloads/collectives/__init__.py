"""Collectives: what all-reduces a gradient over RC connections, and the INA header and arithmetic that switches
share."""
