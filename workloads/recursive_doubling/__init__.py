"""Recursive doubling between ranks."""
