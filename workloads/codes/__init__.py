"""Erasure codes over GF(2^8): Reed-Solomon, and the product-matrix codes that repair with less traffic."""

from workloads.codes.catalogue import CODES, create_code, problem_of
from workloads.codes.linear import LinearCode

__all__ = ["CODES", "LinearCode", "create_code", "problem_of"]
