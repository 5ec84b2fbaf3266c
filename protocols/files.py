"""Files that appear whole: written beside their place and renamed, so that an interrupted run leaves the old one."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

_STREAMS = (0, 1, 2)
_OF_THE_SYSTEM = (Path("/dev"), Path("/proc"))
_NO_RENAME = frozenset({errno.EBUSY, errno.EXDEV})
"""What renaming fails with where the file itself is mounted, as containers do it."""


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A path to write to, in the same folder; when the block ends well, what is there takes the place of ``path``.

    A link stays a link, and a file that was there keeps its permissions. Written in place is what cannot be replaced:
    a pipe, a device, the file that a standard stream already goes to, a file in a folder that takes no new ones.
    Raises `OSError`.
    """
    if _is_written_in_place(path):
        yield path
        return
    target = Path(os.path.realpath(path))
    beside = _new_file(target.parent)
    try:
        yield beside
        with suppress(FileNotFoundError):
            _make_alike(beside, target.stat())
        try:
            os.replace(beside, target)
        except OSError as error:
            if error.errno not in _NO_RENAME:
                raise
            shutil.copyfile(beside, target)
    finally:
        # After the renaming there is nothing left to remove.
        beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8, whole or not at all. Raises `OSError`."""
    with replaced(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _is_written_in_place(path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(there.st_mode) or any(path.absolute().is_relative_to(each) for each in _OF_THE_SYSTEM):
        return True
    # A file that must not be written is not replaced either: writing it fails as it should.
    may = os.access(path, os.W_OK) and os.access(os.path.dirname(os.path.realpath(path)), os.W_OK)
    return _is_a_stream(there) or not may


def _is_a_stream(there: os.stat_result) -> bool:
    for stream in _STREAMS:
        with suppress(OSError):
            if os.path.samestat(there, os.fstat(stream)):
                return True
    return False


def _new_file(folder: Path) -> Path:
    """An empty file under a name that nobody else has, hidden, with the permissions that new files get."""
    for number in count():
        path = folder / f".equipoise-{os.getpid()}-{number}.part"
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return path
    raise AssertionError("numbers have no end")


def _make_alike(path: Path, there: os.stat_result) -> None:
    with suppress(PermissionError):
        if (there.st_uid, there.st_gid) != (os.getuid(), os.getgid()):
            os.chown(path, there.st_uid, there.st_gid)
    path.chmod(stat.S_IMODE(there.st_mode))
