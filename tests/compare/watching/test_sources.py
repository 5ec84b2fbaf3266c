"""Which clusters the arguments of `watch` name."""

from pathlib import Path

import pytest

from compare.watching.polling import Source, sources_of
from protocols import UserError


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("prod", "other one"):
        (tmp_path / name).mkdir()
    for name in ("a.txt", "b.txt", "x=y.txt"):
        (tmp_path / name).write_text("text")


def test_live_addresses_and_folders_are_clusters_files_are_one_together() -> None:
    found = sources_of(["kafka://h:1,i:2/", "eu=rocketmq://n:9876;m:1", "prod", "two=other one", "a.txt", "g=b.txt"])
    assert found == [
        Source("kafka-h-1-i-2", ("kafka://h:1,i:2/",)),
        Source("eu", ("rocketmq://n:9876;m:1",)),
        Source("prod", ("prod",)),
        Source("two", ("other one",)),
        Source("files", ("a.txt", "g=b.txt")),
    ]
    assert sources_of(["x=y.txt"]) == [Source("files", ("x=y.txt",))], "a file may have = in its name"


def test_what_cannot_be_watched_is_one_line(subtests: pytest.Subtests) -> None:
    for arguments, told in [
        (["-"], "-: standard input can be read only once"),
        (["missing.txt"], "missing.txt: there is no such file"),
        (["prod", "prod=rocketmq://h:1"], "the cluster prod is watched already, expected another NAME=rocketmq://h:1"),
        (["a b=rocketmq://h:1"], "expected a cluster name of letters"),
        (["../x=rocketmq://h:1"], "expected a cluster name of letters"),
        (["rocketmq://h:99999"], "expected rocketmq://host:port"),
        (["kafka://user:secret@h:1"], "expected kafka://host:port without user and password"),
    ]:
        with subtests.test(arguments=arguments, told=told):
            with pytest.raises(UserError) as refused:
                sources_of(arguments)
            assert told in str(refused.value)
            assert "secret" not in str(refused.value)
