"""Every program that our code, tests or documents start, with the Debian package that holds it and what it is needed
for.

`./tb` installs the packages of `SET_UP`; a test compares the two, and another one finds what is started and not
declared.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["LIBRARIES", "PROGRAMS", "Origin", "Program", "package_of", "packages"]


class Origin(Enum):
    """The source that provides a program."""

    DEBIAN = "every Debian has it"
    SET_UP = "./tb installs it"
    INTEROP = "tb interop installs it, here or in its guest"
    CI = "the stage of CI that makes a bare root"
    USER = "the user who wants what it is needed for"


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    package: str
    """package of Debian 12"""
    origin: Origin
    purpose: str


_COREUTILS = ("cat", "chmod", "chown", "cp", "df", "echo", "env", "false", "head", "id", "ln", "ls", "mkdir", "nice",
              "printf", "readlink", "rm", "seq", "sleep", "stat", "stty", "tee", "true", "uname", "yes")  # fmt: skip

PROGRAMS: tuple[Program, ...] = (
    *(Program(name, "coreutils", Origin.DEBIAN, "scripts and commands on hosts of a lab") for name in _COREUTILS),
    Program("apt-cache", "apt", Origin.DEBIAN, "the guest's kernel"),
    Program("apt-config", "apt", Origin.DEBIAN, "the bare root of CI"),
    Program("apt-get", "apt", Origin.DEBIAN, "set-up"),
    Program("bash", "bash", Origin.DEBIAN, "the shells of Mininet's nodes"),
    Program("dpkg", "dpkg", Origin.DEBIAN, "unpacking the guest's kernel"),
    Program("dpkg-query", "dpkg", Origin.DEBIAN, "what is installed"),
    Program("fallocate", "util-linux", Origin.DEBIAN, "tests of full disks"),
    Program("grep", "grep", Origin.DEBIAN, "an example of the documents"),
    Program("hostname", "hostname", Origin.DEBIAN, "tests of a lab's hosts"),
    Program(
        "mount", "mount", Origin.DEBIAN, "the bare root of CI; a view of the verbs devices of an interface's namespace"
    ),
    Program("kill", "procps", Origin.SET_UP, "tests that end what runs on a host of a lab"),
    Program("umount", "mount", Origin.DEBIAN, "the bare root of CI"),
    Program("pivot_root", "util-linux", Origin.DEBIAN, "the bare root of CI"),
    Program("nsenter", "util-linux", Origin.DEBIAN, "tests that look into namespaces"),
    Program("sh", "dash", Origin.DEBIAN, "./tb, builds, commands on hosts of a lab"),
    Program(
        "unshare", "util-linux", Origin.DEBIAN, "namespaces of tests, of endpoints on this kernel and of the bare root"
    ),
    Program("brctl", "bridge-utils", Origin.SET_UP, "Mininet's LinuxBridge, in the benchmark of bring-up"),
    Program("clang", "clang", Origin.SET_UP, "the eBPF program of the faults"),
    Program("ethtool", "ethtool", Origin.SET_UP, "offloads of interfaces: tests, and by hand"),
    Program("gcc", "gcc", Origin.SET_UP, "the C core"),
    Program("cc", "gcc", Origin.SET_UP, "the C core, where a compiler has this name alone"),
    Program("iperf3", "iperf3", Origin.SET_UP, "background TCP"),
    Program("ip", "iproute2", Origin.SET_UP, "interfaces and namespaces by hand: tests and documents"),
    Program("tc", "iproute2", Origin.SET_UP, "qdiscs that tests look at"),
    Program("rdma", "iproute2", Origin.INTEROP, "soft RoCE devices"),
    Program("mnexec", "mininet", Origin.SET_UP, "the nodes of the emulated world"),
    Program("modprobe", "kmod", Origin.INTEROP, "the kernel's soft RoCE"),
    Program("depmod", "kmod", Origin.INTEROP, "the modules of a guest's kernel"),
    *(
        Program(name, "openvswitch-switch", Origin.SET_UP, "switch.commodity: openflow")
        for name in ("ovs-ofctl", "ovs-vsctl", "ovs-vswitchd", "ovsdb-server", "ovsdb-tool")
    ),
    Program("pgrep", "procps", Origin.SET_UP, "tests that nothing runs on hosts of a lab"),
    Program("pkill", "procps", Origin.SET_UP, "tests that end what runs on a host of a lab"),
    Program("ping", "iputils-ping", Origin.SET_UP, "`tb shell`, tests of forwarding"),
    Program("python3", "python3-venv", Origin.SET_UP, "the interpreter of .venv"),
    *(
        Program(name, "openssh-client", Origin.SET_UP, "keys of a lab: tests, and by hand")
        for name in ("ssh", "ssh-add", "ssh-agent", "ssh-keygen")
    ),
    Program("verilator", "verilator", Origin.SET_UP, "the card's hardware, simulated"),
    Program("g++", "g++", Origin.SET_UP, "the card's hardware, simulated"),
    Program("sshd", "openssh-server", Origin.SET_UP, "hosts of the emulated lab"),
    Program("tcpdump", "tcpdump", Origin.SET_UP, "a second reader of captures"),
    Program("tshark", "tshark", Origin.SET_UP, "`tb dissector --install`; what it shows of captures"),
    Program("spin", "spin", Origin.USER, "the test that compares the states of a protocol with those of another model"),
    Program("chromium", "chromium", Origin.USER, "the test that looks at pages in a browser"),
    Program("chromedriver", "chromium-driver", Origin.USER, "the same test"),
    Program("qemu-system-x86_64", "qemu-system-x86", Origin.INTEROP, "guests with soft RoCE"),
    Program("ibv_rc_pingpong", "ibverbs-utils", Origin.INTEROP, "a peer of stock programs"),
    Program("ib_send_bw", "perftest", Origin.INTEROP, "a peer of stock programs"),
    Program("ib_write_bw", "perftest", Origin.INTEROP, "a peer of stock programs"),
    Program("debootstrap", "debootstrap", Origin.CI, "the bare root"),
    Program("git", "git", Origin.CI, "the clone in the bare root, and tb release"),
    Program("cpio", "cpio", Origin.USER, "a second reader of initial file systems; its test skips without it"),
    Program("latex", "texlive-latex-base", Origin.USER, "plots in the format pgf, and styles that ask for it"),
    Program("fc-list", "fontconfig", Origin.USER, "fonts of plots: matplotlib looks into folders without it"),
    Program("perf", "linux-perf", Origin.USER, "a profile of the data plane, by hand"),
    Program("nft", "nftables", Origin.USER, "a row of tb doctor"),
    Program("setcap", "libcap2-bin", Origin.USER, "a Python with the right to packet sockets, on hosts of a lab"),
    Program("sudo", "sudo", Origin.USER, "who is not root"),
    Program("mpicc", "openmpi-bin", Origin.USER, "`tb bench peers`, which goes on without it"),
    Program("mpirun", "openmpi-bin", Origin.USER, "`tb bench peers`, which goes on without it"),
)

LIBRARIES: dict[str, str] = {
    "libbpf-dev": "headers of the eBPF program",
    "libc6-dev": "headers of the C core",
    "llvm": "clang's target bpf",
    "libdeflate-dev": "a fast CRC-32 of the C core",
    "python3-dev": "the headers of Python, for its compiled modules",
    "zlib1g-dev": "CRC-32 of the C core, and sums of several",
}
"""packages of `./tb` that hold no program of ours -> what they are needed for"""


def packages(origin: Origin) -> tuple[str, ...]:
    """In alphabetical order."""
    held = {program.package for program in PROGRAMS if program.origin is origin}
    return tuple(sorted(held | set(LIBRARIES) if origin is Origin.SET_UP else held))


def package_of(program: str) -> str | None:
    """The Debian package; None for a program that is not declared."""
    return next((one.package for one in PROGRAMS if one.name == program), None)
