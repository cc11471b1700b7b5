"""Writing a file so that it is never half there: pages, figures, parameters, checkpoints.

The content is first written beside the old file under a name of its own, and forced onto the disk. Only then does it
take the old file's place, in one move. Whatever happens before that (a kill, a full disk, a pulled plug), the old file
is still there, whole; and if there was none, there is none.
"""
import contextlib
import errno
import os
import stat
from pathlib import Path


def path_of(name, value):
    """`value` as a Path, or an error that names it."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str) or not os.fspath(value):
        raise TypeError(f"{name} must be the path of a file, got {value!r}")
    try:
        possible = b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise ValueError(f"{name} must be the path of a file, and no file can be called {value!r}")
    return Path(value)


def write_whole(path, content):
    """Write `content` to `path`, all of it or nothing. Returns the path.

    Args:
        path: where to. Of a symbolic link, the file behind it is replaced; permissions stay as they are.
        content: bytes, or a text, which is written as UTF-8, or a list of them, written one behind the other.

    Raises: OSError if it cannot be written: no such folder, a full disk, a file that is write-protected, something
        that is no ordinary file (a folder, a device). What was there before is then still there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(folder + "/我.txt", "爱").read_text(encoding="utf-8")
    '爱'
    """
    target = Path(os.path.realpath(path))
    mode = _mode_of(target)
    beside = target.with_name(f".{target.name[:40]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with open(beside, "xb") as file:
            for part in content if isinstance(content, list) else [content]:
                file.write(part.encode() if isinstance(part, str) else part)
            file.flush()
            os.fsync(file.fileno())                 # on the disk before it gets its name
        if mode is not None:
            os.chmod(beside, mode)
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):          # the first error is the one to be seen
            beside.unlink(missing_ok=True)
        raise
    if os.name == "posix":                          # the new name, too, has to reach the disk
        with contextlib.suppress(OSError):          # the file is whole already, and not every folder can be asked
            folder = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    return Path(path)


def _mode_of(target):
    """The permissions of the file that will be replaced, None if there is none; OSError if it must not be."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device, a pipe or a socket"
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL,
                      f"it is {kind}, not an ordinary file; give another name", str(target))
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected", str(target))
    return stat.S_IMODE(mode)
