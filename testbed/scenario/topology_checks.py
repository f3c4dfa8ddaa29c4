"""What must hold between the keys of a fabric: it must fit the plan of addresses, and say nothing twice."""

from __future__ import annotations

from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.schema import MachinesKeys, SpineLeafKeys
from topologies import MAX_RANKS

__all__ = ["check_machines", "check_spine_leaf"]


def check_spine_leaf(problems: Problems, path: KeyPath, keys: SpineLeafKeys) -> bool:
    here, counts = (*path, "hosts_per_leaf"), keys.hosts_per_leaf
    if isinstance(counts, tuple) and len(counts) != keys.leaves:
        found = f"{len(counts)} numbers for {keys.leaves} leaves"
        problems.add(
            here, "not one number for each leaf", found=found, allowed=f"a list of {keys.leaves}, or one number"
        )
        return False
    each = counts if isinstance(counts, tuple) else (counts,) * keys.leaves
    if sum(each) > MAX_RANKS:
        found = f"{sum(each)} in {keys.leaves} leaves"
        problems.add(here, "too many hosts", found=found, allowed=f"at most {MAX_RANKS} in all")
        return False
    rated = isinstance(keys.uplink, dict) and "rate" in keys.uplink
    if keys.oversubscription is not None and rated:
        problems.add(
            (*path, "oversubscription"),
            "the rate of the uplinks is given twice",
            found="oversubscription and uplink.rate",
            allowed="one of the two",
        )
        return False
    return True


def check_machines(problems: Problems, path: KeyPath, keys: MachinesKeys) -> bool:
    workers = keys.machines * keys.workers_per_machine
    if workers > MAX_RANKS:
        found = f"{keys.machines} x {keys.workers_per_machine} = {workers}"
        problems.add(
            (*path, "workers_per_machine"), "too many workers", found=found, allowed=f"at most {MAX_RANKS} in all"
        )
        return False
    return True
