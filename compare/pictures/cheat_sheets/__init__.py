"""One-page cheat sheets, made of the engine's own data: `cheat_sheets` gives all, in one language."""

from compare.pictures.cheat_sheets.sheets import SHEETS
from compare.pictures.cheat_sheets.words import LANGUAGES
from compare.pictures.sheet import Sheet

__all__ = ["LANGUAGES", "cheat_sheets"]


def cheat_sheets(language: str = "en") -> dict[str, Sheet]:
    """Name to sheet: ``kafka``, ``rocketmq``, ``side-by-side``; ``language``: one of `LANGUAGES`."""
    return {name: make(LANGUAGES[language]) for name, make in SHEETS.items()}
