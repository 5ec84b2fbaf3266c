"""Every test is run with the buggy and with the mended version of its program."""

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "version" in metafunc.fixturenames:
        fails = pytest.mark.xfail(raises=AssertionError, strict=True, reason="this is the bug: --runxfail tells it")
        metafunc.parametrize("version", [pytest.param("buggy", marks=fails), "mended"])
