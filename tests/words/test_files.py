"""A file is written whole or not at all, whatever lies at its place and whatever goes wrong."""
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import numpy_attention
from numpy_attention.words.files import write_whole

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "我.txt"


def test_bytes_and_text_are_written(path):
    for content in (b"one", b"", b"two" * 100_000, memoryview(b"three"), "爱\n"):
        assert write_whole(str(path), content) == path
        assert path.read_bytes() == (content.encode() if isinstance(content, str) else bytes(content))
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("broken", ["write", "fsync", "chmod", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "Ctrl-C"])
@pytest.mark.parametrize("there", [True, False])
def test_a_write_that_fails_leaves_what_was_there(path, monkeypatch, broken, error, there):
    if there:
        path.write_text("old")
    elif broken == "chmod":
        pytest.skip("a new file needs no permissions of an old one")

    def fail(*_, **__):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(*(("builtins.open", fail) if broken == "write" else (os, broken, fail)))
        with pytest.raises(type(error)):
            write_whole(path, "new")
    assert [p.read_text() for p in path.parent.iterdir()] == ["old"] * there


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(path):
    code = ("import sys, itertools\nfrom numpy_attention.words.files import write_whole\n"
            "for i in itertools.count():\n    write_whole(sys.argv[1], f'{i:9}' * 50_000)\n    print(i, flush=True)\n")
    env = {**os.environ, "PYTHONPATH": str(Path(numpy_attention.__file__).parents[1])}
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, env=env)
        for _ in range(2):
            writer.stdout.readline()
        writer.kill()
        writer.wait()
        writer.stdout.close()
        text = path.read_text()
        assert len(text) == 9 * 50_000 and text == text[:9] * 50_000


def test_two_writers_at_once_leave_one_whole_file(path):
    code = ("import sys\nfrom numpy_attention.words.files import write_whole\n"
            "for _ in range(50):\n    write_whole(sys.argv[1], sys.argv[2] * 10_000)\n")
    env = {**os.environ, "PYTHONPATH": str(Path(numpy_attention.__file__).parents[1])}
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), name], env=env) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert path.read_text() in ("a" * 10_000, "b" * 10_000)
    assert list(path.parent.iterdir()) == [path]


@posix
def test_permissions_stay_and_new_files_are_like_any_other(path):
    write_whole(path, "new")
    path.with_name("plain").write_text("new")
    assert path.stat().st_mode == path.with_name("plain").stat().st_mode
    for mode in (0o600, 0o664, 0o755):
        path.chmod(mode)
        write_whole(path, "again")
        assert stat.S_IMODE(path.stat().st_mode) == mode


@posix
def test_a_link_stays_a_link(path):
    deep = path.parent / "deep"
    deep.mkdir()
    for target in (deep / "real", deep / "not yet"):
        link = path.with_name(f"to {target.name}")
        link.symlink_to(target)
        if target.name == "real":
            target.write_text("old")
        write_whole(link, "new")
        assert link.is_symlink() and target.read_text() == "new"
    assert sorted(p.name for p in deep.iterdir()) == ["not yet", "real"]


@posix
def test_what_is_no_ordinary_file_is_refused(path):
    with pytest.raises(OSError, match="it is a folder"):
        write_whole(path.parent, "new")
    with pytest.raises(OSError, match="a device, a pipe or a socket"):
        write_whole("/dev/null", "new")
    os.mkfifo(path)
    with pytest.raises(OSError, match="a device, a pipe or a socket"):
        write_whole(path, "new")
    assert stat.S_ISFIFO(path.stat().st_mode) and stat.S_ISCHR(os.stat("/dev/null").st_mode)


@posix
def test_a_write_protected_file_is_left_alone(path, monkeypatch):
    path.write_text("old")
    path.chmod(0o444)
    if os.access(path, os.W_OK):                    # the administrator may write anything
        monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="write-protected"):
        write_whole(path, "new")
    assert path.read_text() == "old"


def test_a_folder_that_is_not_there_is_an_error(path):
    with pytest.raises(FileNotFoundError):
        write_whole(path / "none" / "a", "new")


@posix
def test_a_long_name_can_be_written(path):
    long = path.with_name("我" * 83)                # 249 bytes: a longer name beside it would be refused
    write_whole(long, "new")
    assert long.read_text() == "new"
