"""Pairwise exchange between ranks."""
