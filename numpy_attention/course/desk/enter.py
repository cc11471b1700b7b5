"""Build a small file system that holds only what a desk needs, move into it for good, and start the desk there (Linux).

    unshare --user --map-root-user --mount --pid --net --ipc --fork --kill-child python enter.py PLAN COMMAND

`unshare` gives this process a room of its own in which it may mount; here the room is furnished: the system's folders
read-only, a scratch folder of limited size, nothing else. It needs nothing but the standard library. Bubblewrap, where
it is installed, does the same.
"""
import ctypes
import json
import os
import platform
import sys

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 4096, 16384, 1 << 18
DETACH, RECURSIVE, READ_ONLY, AT_FDCWD = 2, 0x8000, 1, -100
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
MOUNT_SETATTR = 442
DEVICES = ("null", "zero", "random", "urandom")

libc = ctypes.CDLL(None, use_errno=True)


def call(result, what):
    """Raise OSError if a call of the C library went wrong."""
    if result:
        raise OSError(ctypes.get_errno(), f"{os.strerror(ctypes.get_errno())}: {what}")


def mount(source, target, kind=None, flags=0, options=None):
    """The system call mount."""
    encoded = [each and os.fsencode(each) for each in (source, target, kind)]
    call(libc.mount(*encoded, ctypes.c_ulong(flags), options and options.encode()), f"mount {target}")


def show(root, path, inside=None):
    """Make `path` visible below `root`, read-only with everything in it."""
    target = root + (inside or path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if inside is None and os.path.islink(path):
        if not os.path.lexists(target):
            os.symlink(os.readlink(path), target)
        return
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        open(target, "xb").close()
    mount(path, target, None, MS_BIND | MS_REC)
    attributes = (ctypes.c_uint64 * 4)(READ_ONLY, 0, 0, 0)
    call(libc.syscall(MOUNT_SETATTR, AT_FDCWD, os.fsencode(target), RECURSIVE, attributes, 32), f"read-only {target}")


def furnish(plan):
    """The new root, and into it; what was outside cannot be reached any more."""
    root = plan["root"]
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, f"size={plan['bytes']},mode=755")
    for path in plan["visible"]:
        show(root, path)
    for device in DEVICES:
        os.makedirs(f"{root}/dev", exist_ok=True)
        open(f"{root}/dev/{device}", "xb").close()
        mount(f"/dev/{device}", f"{root}/dev/{device}", None, MS_BIND)
    for path in plan["masked"]:
        mount("tmpfs", root + path, "tmpfs", MS_NOSUID | MS_NODEV, "size=4096")
    show(root, plan["edition"], "/edition")
    os.makedirs(f"{root}/proc")
    mount("proc", f"{root}/proc", "proc", MS_NOSUID | MS_NODEV | MS_RDONLY)     # root could set the kernel there
    os.makedirs(f"{root}/tmp", exist_ok=True)       # Python itself may be installed below it
    os.chdir(root)
    call(libc.syscall(PIVOT_ROOT[platform.machine()], b".", b"."), "pivot_root")
    call(libc.umount2(b".", DETACH), "umount")
    os.chdir("/")


def main(plan, *command):
    """Furnish, give up all rights, start."""
    furnish(json.loads(plan))
    for capability in range(64):
        libc.prctl(24, ctypes.c_ulong(capability), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
