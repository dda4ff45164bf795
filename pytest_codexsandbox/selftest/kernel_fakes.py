"""Kernel fakes: fake Codexes that open what the kernel keeps: system calls, families, devices, terminals."""

from typing import Final

from pytest_codexsandbox.model.policy import NETWORK
from pytest_codexsandbox.selftest.fake import mutant

KERNEL: Final = (
    mutant("leaks-other-families", "leaves every family but IP open", "network.other-families-refused",
           flaws=("socket:NETLINK", "socket:PACKET", "socket:VSOCK", "socket:OTHER")),
    mutant("shares-namespaces", "gives the command no network and no IPC namespace of its own",
           "network.namespace-is-its-own", "process.ipc-is-its-own", flaws=("namespaces:shared",)),
    mutant("lets-no-server-accept", "refuses accept(2) with the network on", "network.tcp-server-works",
           flaws=("network-on:no-server",), under=(NETWORK,)),
    mutant("lets-no-resolver-send", "refuses sendmmsg(2) with the network on", "network.send-many-works",
           flaws=("network-on:no-sendmmsg",), under=(NETWORK,)),
    *(
        mutant(f"lets-{name}", wrong, f"process.{promise}", flaws=(f"kernel:{name}",))
        for name, promise, wrong in (
            ("io-uring", "io-uring-refused", "lets io_uring through"),
            ("ptrace", "ptrace-refused", "lets a command trace its child"),
            ("other-memory", "other-memory-refused", "lets memory be reached by a process's number"),
            ("other-abi", "other-abi-refused", "lets the system calls of 32-bit programs through"),
            ("remount", "remount-refused", "lets `/` be remounted writable"),
            ("keys", "keyrings", "shares the keyrings of the session and the user"),
            ("ipc", "ipc-is-its-own", "shares the machine's shared memory"),
        )
    ),
    mutant("shares-devices", "shares the devices of the machine", "process.devices-out-of-reach",
           flaws=("devices:all",)),
    mutant("shares-terminals", "shows the terminals outside in /dev/pts", "process.devices-out-of-reach",
           flaws=("devices:terminals",)),
    mutant("opens-hardware-settings", "leaves the settings of the hardware open to be changed",
           "process.hardware-settings-out-of-reach", flaws=("hardware:open",)),
    mutant("keeps-terminal", "leaves the command the caller's terminal", "process.terminal-out-of-reach",
           flaws=("terminal:kept",)),
    mutant("types-into-terminal", "lets the command type into the caller's terminal", "process.terminal-out-of-reach",
           flaws=("terminal:typed",), requires=("kernel:typing",)),
    *(
        mutant(f"open-on-{name}", f"has no sandbox where stdin is {what}", f"process.{promise}",
               flaws=(f"when:stdin-{name}:unconfined",))
        for name, promise, what in (
            ("terminal", "terminal-out-of-reach", "a terminal"),
            ("null", "null-stdin-is-confined", "/dev/null"),
            ("closed", "closed-stdin-is-confined", "closed"),
        )
    ),
    mutant("fixes-umask", "gives the command a umask of 022, whatever the caller's is", "process.other-umask-kept",
           flaws=("umask:fixed",)),
)  # fmt: skip
