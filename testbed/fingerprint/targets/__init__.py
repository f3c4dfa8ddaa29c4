"""Targets of a fingerprint: each gives sums of gradients that it is given."""
