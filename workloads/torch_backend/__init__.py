"""The backend `ina` of torch.distributed: float32 sums go through the network of a scenario, everything else through
the store of the rendezvous (docs/training.md). `import torch` loads it, by an entry point of the group
`torch.backends`."""

from __future__ import annotations

__all__ = ["register"]


def register() -> None:
    """For torch's autoload: make `dist.init_process_group("ina")` known. Twice does no harm."""
    import torch.distributed as dist

    if not dist.is_available() or hasattr(dist.Backend, "INA"):
        return
    from workloads.torch_backend.calls import wrap_calls
    from workloads.torch_backend.group import make_group

    dist.Backend.register_backend("ina", make_group, extended_api=True, devices=["cpu"])
    wrap_calls()
