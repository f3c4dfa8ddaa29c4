"""All probes as a table: what is asked, what is used where it is missing, and what would supply it."""

from __future__ import annotations

from collections.abc import Iterable

from testbed.doctor import host_checks as host
from testbed.doctor import kernel_checks as kernel
from testbed.doctor.isolation import run_check, run_isolated
from testbed.doctor.model import Probe, ProbeSpec
from workloads.errors import HostCapabilityError

__all__ = ["PROBES", "probe_all", "require"]

_KERNEL = "a kernel that has it (Debian's has)"

PROBES: tuple[ProbeSpec, ...] = (
    ProbeSpec(
        "namespaces",
        "the right to make network namespaces (root)",
        kernel.check_namespaces,
        "only the simulated world runs",
        "run as root: sudo",
        isolated=True,
    ),
    ProbeSpec(
        "veth",
        "veth pairs with an MTU of 9000",
        kernel.check_veth,
        "no emulated world",
        _KERNEL + " (CONFIG_VETH)",
        isolated=True,
    ),
    ProbeSpec(
        "htb",
        "HTB and pfifo shaping",
        kernel.check_htb,
        "no emulated world: links would be unshaped",
        _KERNEL + " (CONFIG_NET_SCH_HTB)",
        isolated=True,
    ),
    ProbeSpec(
        "af_packet",
        "AF_PACKET sockets with batched calls",
        kernel.check_af_packet,
        "no emulated world: no node of ours can run",
        _KERNEL + " (CONFIG_PACKET)",
        isolated=True,
    ),
    ProbeSpec(
        "offloads",
        "switching offloads off",
        kernel.check_offloads,
        "no emulated world: hosts would hand over oversized frames",
        _KERNEL,
        isolated=True,
    ),
    ProbeSpec(
        "order",
        "one receiving processor for each link",
        kernel.check_order,
        "frames of a link may overtake each other when the machine is busy",
        _KERNEL + " (CONFIG_RPS), and sysfs that may be written",
        isolated=True,
    ),
    ProbeSpec(
        "mininet",
        "Mininet for this interpreter, and mnexec",
        host.check_mininet,
        "no emulated world",
        "apt-get install mininet, and a venv of /usr/bin/python3 with --system-site-packages",
    ),
    ProbeSpec(
        "clsact_bpf",
        "eBPF programs on clsact",
        kernel.check_clsact_bpf,
        "no faults on links that end at no switch of ours",
        _KERNEL + " (CONFIG_NET_CLS_BPF), and root",
        isolated=True,
    ),
    ProbeSpec(
        "priority",
        "HTB with u32: service by layer class",
        kernel.check_priority,
        "no topology.link.priority in the emulated world; the simulated one has it",
        _KERNEL + " (CONFIG_NET_CLS_U32)",
        isolated=True,
    ),
    ProbeSpec(
        "netem",
        "netem",
        kernel.check_netem,
        "no delay and no reordering on links that end at no switch of ours",
        _KERNEL + " (CONFIG_NET_SCH_NETEM)",
        isolated=True,
    ),
    ProbeSpec("bridge", "Linux bridge", kernel.check_bridge, "no emulated lab", _KERNEL, isolated=True),
    ProbeSpec(
        "compiler",
        "a C compiler",
        host.check_compiler,
        "the Python data plane, which is slower",
        "apt-get install gcc libc6-dev",
    ),
    ProbeSpec(
        "native",
        "the C core, compiled",
        host.check_native,
        "the Python reference: slower, with the same sums",
        "a C compiler that builds it (gcc libc6-dev zlib1g-dev); the whole log: python -m workloads.native.build",
    ),
    ProbeSpec(
        "clang",
        "clang, to build eBPF",
        host.check_clang,
        "the object that was built before, if any; else no faults on links that end at no switch of ours",
        "apt-get install clang",
    ),
    ProbeSpec(
        "iperf3",
        "iperf3, for background TCP",
        host.check_iperf3,
        "background traffic of kind udp only",
        "apt-get install iperf3",
    ),
    ProbeSpec(
        "cpus",
        "two CPUs or more",
        host.check_cpus,
        "figures of performance are advisory",
        "more CPUs, or a larger cgroup quota",
    ),
    ProbeSpec(
        "ovs",
        "Open vSwitch",
        host.check_ovs,
        "no switch.commodity: openflow; our own program obeys the same rules",
        "apt-get install openvswitch-switch (its service need not run), and the kernel module tun",
    ),
    ProbeSpec(
        "openflow",
        "an OpenFlow controller library",
        host.check_openflow,
        "no switch.commodity: openflow",
        "pip install os-ken",
    ),
    ProbeSpec(
        "qemu",
        "QEMU 7.2 with pyverbs",
        host.check_qemu,
        "interoperation tests with rdma_rxe are skipped",
        "apt-get install qemu-system-x86 rdma-core python3-pyverbs",
    ),
    ProbeSpec(
        "rdma_device",
        "an RDMA device",
        host.check_rdma_device,
        "rdma_rxe under QEMU, else skipped",
        "hardware, or a kernel with rdma_rxe",
    ),
)


def _probe(spec: ProbeSpec) -> Probe:
    ok, detail = run_isolated(spec.check) if spec.isolated else run_check(spec.check)
    return Probe(spec.name, spec.title, ok, detail, spec.instead, spec.remedy)


def _warm_up() -> None:
    """What the children need is imported once, before they fork."""
    import pyroute2  # noqa: F401


def probe_all() -> tuple[Probe, ...]:
    """Every row, in the order of the table. Takes about a second and leaves nothing behind."""
    _warm_up()
    return tuple(_probe(spec) for spec in PROBES)


def require(names: Iterable[str]) -> None:
    """Raises HostCapabilityError for the first of these probes that does not hold; KeyError for an unknown name."""
    specs = {spec.name: spec for spec in PROBES}
    _warm_up()
    for name in names:
        spec = specs[name]
        probe = _probe(spec)
        if not probe.ok:
            raise HostCapabilityError(f"{spec.title} ({probe.detail})", spec.remedy)
