"""`transport.dcqcn`: between file and value."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from testbed.reading.problems import KeyPath, Problems
from testbed.reading.units import format_duration, format_rate, format_size
from testbed.reading.validate import validate_section
from testbed.scenario.model import DcqcnOptions
from testbed.scenario.schema import DcqcnKeys

__all__ = ["dump_dcqcn", "load_dcqcn"]

_DCQCN_FIELDS = {
    "alpha_timer": "alpha_timer_ns",
    "increase_timer": "increase_timer_ns",
    "byte_counter": "byte_counter_bytes",
    "cnp_interval": "cnp_interval_ns",
    "cut_period": "cut_period_ns",
    "additive_increase": "additive_bps",
    "hyper_increase": "hyper_bps",
    "min_rate": "min_rate_bps",
    "burst": "burst_ns",
}
"""key -> field, of those that may be `scaled`"""


def load_dcqcn(problems: Problems, path: KeyPath, value: object) -> DcqcnOptions | None:
    """None when there are problems (they are told). Without DCQCN nobody reads it: one key turns it on and off."""
    if value is None:
        return DcqcnOptions()
    keys = validate_section(problems, path, value, DcqcnKeys, "dcqcn")
    if keys is None:
        return None
    given = {field: getattr(keys, key) for key, field in _DCQCN_FIELDS.items()}
    return DcqcnOptions(time_scale=keys.time_scale, gain=keys.gain, recovery_steps=keys.recovery_steps, **given)


def dump_dcqcn(options: DcqcnOptions) -> dict[str, Any]:
    """The section that loads back to the same value."""
    result: dict[str, Any] = {
        "time_scale": "auto" if options.time_scale is None else options.time_scale,
        "gain": options.gain,
        "recovery_steps": options.recovery_steps,
    }
    assert len(_DCQCN_FIELDS) + len(result) == len(fields(options))
    formats = {"ns": format_duration, "bps": format_rate, "bytes": format_size}
    for key, field in _DCQCN_FIELDS.items():
        given = getattr(options, field)
        result[key] = "scaled" if given is None else formats[field.rpartition("_")[2]](given)
    return result
