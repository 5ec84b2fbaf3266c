"""The door in our own process, where our packages are there under their ordinary names; which folders are ours."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

import pytest

import compare.testing.group
import equipoise.names
from equipoise.finder import OurFinder, import_ours
from equipoise.names import HOME, is_a_home, is_ours


def test_nothing_is_loaded_twice() -> None:
    assert import_module("equipoise.testing").Group is compare.testing.group.Group
    assert import_module("equipoise.compare") is compare
    assert import_module("equipoise.testing.group") is compare.testing.group


def test_the_home_holds_the_door_and_our_packages() -> None:
    assert is_a_home(HOME)
    assert all((HOME / name / "__init__.py").is_file() for name in equipoise.names.PACKAGES)


def test_ours_is_what_lies_beside_the_door(subtests: pytest.Subtests, tmp_path: Path) -> None:
    (tmp_path / "home" / "equipoise").mkdir(parents=True)
    (tmp_path / "home" / "equipoise" / "names.py").touch()
    for file, ours in [
        ("home/compare/__init__.py", True),
        ("home/compare/cli.py", False),
        ("home/other/__init__.py", False),
        ("home/project/compare.py", False),
        ("elsewhere/compare/__init__.py", False),
        (None, False),
    ]:
        with subtests.test(file=file, ours=ours):
            origin = None if file is None else str(tmp_path / file)
            assert is_ours(ModuleSpec("compare", None, origin=origin)) is ours


def test_names_that_are_not_ours_are_left_to_others() -> None:
    for finder in (OurFinder(apart=True), OurFinder(apart=False)):
        assert finder.find_spec("json") is None
        assert finder.find_spec("equipoise.finder") is None
        assert finder.find_spec("comparer") is None
    assert OurFinder(apart=False).find_spec("compare") is None


def test_what_another_finder_has_is_not_hidden_by_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As that of a project that is installed to be edited."""
    spec = ModuleSpec("protocols", None, origin=str(tmp_path / "protocols" / "__init__.py"))

    class Finder:
        def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
            return spec if name == "protocols" else None

    import_module("equipoise.compare")
    monkeypatch.setattr(sys, "meta_path", [PathFinder, Finder()])
    assert OurFinder(apart=True).find_spec("protocols") is spec
    ours = OurFinder(apart=True).find_spec("compare")
    assert ours is not None
    assert ours.origin == str(HOME / "compare" / "__init__.py")


def test_only_names_of_ours_are_imported_through_the_door() -> None:
    assert import_ours("json.decoder") is sys.modules["json"]
    assert import_ours("compare.testing") is sys.modules["equipoise.compare"]
    assert import_ours("compare.testing", fromlist=["group"]) is compare.testing
