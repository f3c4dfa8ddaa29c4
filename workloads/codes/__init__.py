"""Erasure codes over GF(2^8): Reed-Solomon, and the product-matrix codes that repair with less traffic."""

from typing import TYPE_CHECKING

from workloads.codes.catalogue import CODES, create_code, problem_of
from workloads.lazily import lazily

if TYPE_CHECKING:
    from workloads.codes.linear import LinearCode

__all__ = ["CODES", "LinearCode", "create_code", "problem_of"]

__getattr__ = lazily(__name__, {"LinearCode": ".linear"})
