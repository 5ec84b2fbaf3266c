"""Whoever uses a name that is gone reads in one line what stands in its place."""

import importlib

import pytest

from compare.testing import kafka_group
from compare.testing.removed import REMOVED
from protocols.errors import UserError


def test_an_import_tells_it(subtests: pytest.Subtests) -> None:
    for package in ["compare.testing", "equipoise.testing", "equipoise.compare.testing"]:
        for name in sorted(REMOVED):
            with subtests.test(package=package, name=name):
                for statement in (f"import {package}.{name}", f"from {package}.{name} import *"):
                    with pytest.raises(ImportError) as raised:
                        exec(statement)
                    assert str(raised.value) == REMOVED[name]
                assert "see docs/" in REMOVED[name]
                assert "\n" not in REMOVED[name]


def test_an_import_from_the_package_and_of_a_module_within_tells_it() -> None:
    for statement in ("from compare.testing import aiokafka", "import compare.testing.aiokafka.door"):
        with pytest.raises(ImportError, match="the fixture kafka_broker, see docs"):
            exec(statement)


def test_other_modules_that_are_not_there_are_as_ever() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'compare\.testing\.nothing'"):
        importlib.import_module("compare.testing.nothing")


@pytest.mark.parametrize("name", ["aiokafka", "kafka_python", "rocketmq_v5"])
def test_a_method_of_a_group_tells_it(name: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(kafka_group(), name)()
    assert str(raised.value) == REMOVED[name]


def test_an_error_within_a_property_stays_what_it_was() -> None:
    group = kafka_group(members=["c1"])
    group.world.cluster = None  # type: ignore[assignment]
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'topology'"):
        _ = group.known
    with pytest.raises(AttributeError, match="'Group' object has no attribute 'nothing'"):
        _ = group.nothing  # type: ignore[attr-defined]


def test_a_coroutine_is_refused() -> None:
    async def main() -> None:
        """A program."""

    for code in (main, main()):
        with pytest.raises(UserError, match=r"group\.run: coroutines .*: run them with asyncio\.run"):
            kafka_group().run(code)
