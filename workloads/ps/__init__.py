"""Hosts of the plain parameter server: those of ATP."""
