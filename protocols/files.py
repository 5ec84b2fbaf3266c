"""Files that appear whole, written beside their place and renamed, so that an interrupted run leaves the old one; and
files of users, which may be devices without an end or pipes that nobody writes to."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO

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


def check_writable(path: Path) -> None:
    """Raises `OSError` where no file can be written there, before the work for it begins. Its folder is tried with a
    file that is removed."""
    with suppress(FileNotFoundError):
        path.stat()
    if not _is_written_in_place(path):
        _new_file(Path(os.path.realpath(path)).parent).unlink()
    elif not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


LARGEST = 512 * 1024 * 1024
"""Bytes of a file that is read whole, unless its reader says otherwise."""

PATIENCE_S = 3.0
"""How long a pipe waits for somebody who writes to it."""


def opened(path: Path) -> BinaryIO:
    """A file, or a pipe, to read from. Raises `OSError`, also for what would never end: a device that is neither empty
    nor a terminal, and a pipe that nobody has opened to write within `PATIENCE_S`."""
    mode = path.stat().st_mode
    if stat.S_ISFIFO(mode):
        return _opened_pipe(path)
    file = path.open("rb")
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not file.isatty() and file.peek(1)):
        file.close()
        raise OSError(errno.EINVAL, "it is a device")
    return file


def content(path: Path, most: int = LARGEST) -> bytes:
    """The bytes of a file. Raises `OSError` as `opened`, and where there are more than ``most``."""
    with opened(path) as file:
        if os.fstat(file.fileno()).st_size > most or len(raw := file.read(most + 1)) > most:
            raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB")
    return raw


def _opened_pipe(path: Path) -> BinaryIO:
    """To open a named pipe takes until somebody opens its other end: here we do where nobody else does."""
    with ThreadPoolExecutor(1) as beside:
        opening = beside.submit(os.open, path, os.O_RDONLY)
        try:
            return os.fdopen(opening.result(PATIENCE_S), "rb")
        except TimeoutError:
            raise OSError(errno.ENXIO, "nobody writes to this pipe") from None
        finally:
            if not opening.done():
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                os.close(opening.result())


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
