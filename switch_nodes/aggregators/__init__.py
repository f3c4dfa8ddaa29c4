"""The ATP and ESA switch programs: one core, two policies."""

from switch_nodes.aggregators.policies import AtpProgram, EsaProgram

__all__ = ["AtpProgram", "EsaProgram"]
