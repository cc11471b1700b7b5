"""What a student's process may use, set by the process for itself before the first line of the student's code.

Time, memory, the size of files and the number of open ones are limits of the system (`resource`). On Linux a filter of
system calls comes on top, which the process can never take off again: no new processes, no other program, no signals to
others, no network, no look into another process. Threads stay allowed.
"""
import ctypes
import os
import platform
import signal
import struct
import sys

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 1, 38, 22
FILTER, ALLOW, REFUSE, NOT_THERE = 2, 0x7fff0000, 0x00050000 | 1, 0x00050000 | 38       # errno EPERM, ENOSYS
CLONE_THREAD = 0x10000
OPEN_FILES = 256

# Numbers of the system calls: x86_64, aarch64. Refused are processes, signals, looks into others, the network, and
# memory that no limit counts (memfd_create, shmget, mq_open, add_key).
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CALLS = {
    "x86_64": {"fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "tkill": 200, "ptrace": 101, "setsid": 112,
               "setpgid": 109, "socket": 41, "process_vm_readv": 310, "process_vm_writev": 311, "unshare": 272,
               "mount": 165, "setns": 308, "pidfd_send_signal": 424, "pidfd_getfd": 438, "bpf": 321, "keyctl": 250,
               "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "io_uring_setup": 425, "memfd_create": 319,
               "memfd_secret": 447, "shmget": 29, "msgget": 68, "semget": 64, "mq_open": 240, "add_key": 248,
               "request_key": 249, "setpriority": 141, "ioprio_set": 251, "perf_event_open": 298, "userfaultfd": 323,
               "process_madvise": 440, "process_mrelease": 448, "move_pages": 279, "migrate_pages": 256,
               "kill": 62, "tgkill": 234, "clone": 56, "clone3": 435, "prlimit64": 302, "sched_setparam": 142,
               "sched_setscheduler": 144, "sched_setaffinity": 203, "sched_setattr": 314, "fcntl": 72, "ioctl": 16},
    "aarch64": {"execve": 221, "execveat": 281, "tkill": 130, "ptrace": 117, "setsid": 157, "setpgid": 154,
                "socket": 198, "process_vm_readv": 270, "process_vm_writev": 271, "unshare": 97, "mount": 40,
                "setns": 268, "pidfd_send_signal": 424, "pidfd_getfd": 438, "bpf": 280, "keyctl": 219,
                "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "io_uring_setup": 425, "memfd_create": 279,
                "memfd_secret": 447, "shmget": 194, "msgget": 186, "semget": 190, "mq_open": 180, "add_key": 217,
                "request_key": 218, "setpriority": 140, "ioprio_set": 30, "perf_event_open": 241, "userfaultfd": 282,
                "process_madvise": 440, "process_mrelease": 448, "move_pages": 239, "migrate_pages": 238,
                "kill": 129, "tgkill": 131, "clone": 220, "clone3": 435, "prlimit64": 261, "sched_setparam": 118,
                "sched_setscheduler": 119, "sched_setaffinity": 122, "sched_setattr": 274, "fcntl": 25, "ioctl": 29},
}
TO_ITSELF = ("kill", "tgkill")          # these it may do to itself, named by its own number;
OR_NOBODY = ("prlimit64", "sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr")     # 0: itself
ASKS_FOR = {"fcntl": (8, 10, 15), "ioctl": (0x8901, 0x8902, 0x5412)}    # F_SETOWN, F_SETSIG, …: a file signals others
ASKED_FURTHER = (*TO_ITSELF, *OR_NOBODY, *ASKS_FOR, "clone", "clone3")  # it depends on their arguments


def set_limits(seconds, megabytes, file_bytes):
    """Limit this process for good; what a system does not have is left out."""
    try:
        import resource
    except ImportError:         # Windows
        return
    for name, limit in (("RLIMIT_CPU", int(seconds) + 5), ("RLIMIT_AS", megabytes * 2**20), ("RLIMIT_CORE", 0),
                        ("RLIMIT_FSIZE", file_bytes), ("RLIMIT_NOFILE", OPEN_FILES)):
        which = getattr(resource, name, None)
        if which is None:
            continue
        _, most = resource.getrlimit(which)
        limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
        try:
            resource.setrlimit(which, (limit, limit))
        except (ValueError, OSError):       # macOS refuses some
            continue
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)       # a file that grows too large is an OSError, not the end


def die_with_parent():
    """Ask the system to end this process when the one that started it ends (Linux)."""
    if sys.platform == "linux":
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def stay_alone():
    """Refuse processes, programs, signals to others and the network from now on. True if this system can do it."""
    machine = platform.machine()
    if sys.platform != "linux" or machine not in CALLS or sys.maxsize < 2**32:
        return False
    instructions = b"".join(_filter(MACHINES[machine], CALLS[machine]))
    program = ctypes.create_string_buffer(instructions)
    header = ctypes.create_string_buffer(struct.pack("@HP", len(instructions) // 8, ctypes.addressof(program)))
    return _prctl(PR_SET_NO_NEW_PRIVS, 1) == 0 and _prctl(PR_SET_SECCOMP, FILTER, ctypes.addressof(header)) == 0


def _prctl(option, *arguments):
    numbers = [ctypes.c_ulong(each) for each in (*arguments, 0, 0, 0, 0)[:4]]
    return ctypes.CDLL(None, use_errno=True).prctl(option, *numbers)


def _filter(machine, calls):
    """The filter as instructions of the kernel's small machine: load a word, compare, jump, return a verdict."""
    LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
    number, arch, first, second = 0, 4, 16, 24      # where the words of a call lie

    def step(code, k, true=0, false=0):
        return struct.pack("=HBBI", code, true, false, k)

    def refused(call, verdict=REFUSE):
        return [step(EQUAL, calls[call], 0, 1), step(RETURN, verdict)]

    def one_of(call, word, values, then, otherwise):
        """If it is this call: `then` where the word is one of these, else `otherwise`."""
        count = len(values)
        yield from (step(EQUAL, calls[call], 0, count + 3), step(LOAD, word))
        yield from (step(EQUAL, value, count - i, 0) for i, value in enumerate(values))
        yield from (step(RETURN, otherwise), step(RETURN, then))

    yield step(LOAD, arch)
    yield from (step(EQUAL, machine, 1, 0), step(RETURN, REFUSE))
    yield step(LOAD, number)
    yield from (step(AT_LEAST, 0x40000000, 0, 1), step(RETURN, REFUSE))       # the other set of numbers of x86
    for call in calls:
        if call not in ASKED_FURTHER:
            yield from refused(call)
    yield from refused("clone3", NOT_THERE)             # its arguments cannot be seen; clone is taken instead
    yield from (step(EQUAL, calls["clone"], 0, 4), step(LOAD, first), step(ANY_BIT, CLONE_THREAD, 0, 1),
                step(RETURN, ALLOW), step(RETURN, REFUSE))
    for call in TO_ITSELF:
        yield from one_of(call, first, (os.getpid(),), ALLOW, REFUSE)
    for call in OR_NOBODY:
        yield from one_of(call, first, (0, os.getpid()), ALLOW, REFUSE)
    for call, values in ASKS_FOR.items():
        yield from one_of(call, second, values, REFUSE, ALLOW)
    yield step(RETURN, ALLOW)
