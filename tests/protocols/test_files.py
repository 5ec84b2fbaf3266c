"""A file that is written appears whole or not at all, and what was there is neither lost nor changed otherwise."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from protocols.files import replaced, write_text
from protocols.timeline.rows import write_parquet
from tests.rows import rows

ROOT = Path(__file__).parents[2]


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_was_there_stays_until_everything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with replaced(path) as beside:
        beside.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["report.html"]


@rows("error", [KeyboardInterrupt, OSError, ValueError])
def test_an_interruption_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def write() -> None:
        with replaced(path) as beside:
            beside.write_text("half of the n")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["report.html"]


def test_a_new_file_gets_the_permissions_that_new_files_get_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_text(tmp_path / "new", "text")
    assert mode(tmp_path / "new") == mode(tmp_path / "plain")
    (tmp_path / "old").touch()
    (tmp_path / "old").chmod(0o640)
    write_text(tmp_path / "old", "text")
    assert mode(tmp_path / "old") == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link, dangling = tmp_path / "real" / "file", tmp_path / "link", tmp_path / "dangling"
    real.write_text("old")
    link.symlink_to(real)
    dangling.symlink_to(tmp_path / "real" / "other")
    write_text(link, "new")
    write_text(dangling, "made")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert (tmp_path / "real" / "other").read_text() == "made"
    assert names(tmp_path / "real") == ["file", "other"]


def test_a_pipe_and_a_device_are_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_text(pipe, "through the pipe")
        assert reader.communicate(timeout=20)[0] == b"through the pipe"
    assert names(tmp_path) == ["pipe"]
    write_text(Path(os.devnull), "gone")
    assert not Path(os.devnull).is_file()


@rows("target", ["/dev/stdout", "{out}"])
def test_where_standard_output_goes_is_written_in_place(tmp_path: Path, target: str) -> None:
    out = tmp_path / "out"
    code = (
        "import sys; from pathlib import Path; from protocols.files import write_text;"
        " write_text(Path(sys.argv[1]), 'text')"
    )
    with out.open("wb") as file:
        inode = os.fstat(file.fileno()).st_ino
        subprocess.run([sys.executable, "-c", code, target.format(out=out)], stdout=file, cwd=ROOT, check=True)
    assert out.read_text() == "text"
    assert out.stat().st_ino == inode


def test_of_many_tables_none_takes_its_place_before_all_are_written(tmp_path: Path) -> None:
    good, worse = pa.table({"a": [1]}), pa.table({"b": ["x"]})
    write_parquet({"one": [good], "two": [good]}, tmp_path / "tables")
    with pytest.raises(pa.ArrowInvalid):
        write_parquet({"one": [pa.table({"a": [2]})], "two": [good, worse]}, tmp_path / "tables")
    assert names(tmp_path / "tables") == ["one.parquet", "two.parquet"]
    assert pq.read_table(tmp_path / "tables" / "one.parquet").equals(good)
    with pytest.raises(pa.ArrowInvalid):
        write_parquet({"one": [good], "two": [good, worse]}, tmp_path / "new")
    assert not (tmp_path / "new").exists()
