"""Hosts of ESA: those of ATP, with priorities."""
