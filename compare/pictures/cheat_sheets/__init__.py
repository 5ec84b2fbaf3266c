"""One-page cheat sheets, made of the engine's own data: `cheat_sheets` gives all, in one language."""

from compare.pictures.cheat_sheets.sheets import SHEETS
from compare.pictures.cheat_sheets.words import LANGUAGES
from compare.pictures.sheet import Sheet


def cheat_sheets(language: str = "en") -> dict[str, Sheet]:
    """Name to sheet: ``kafka``, ``rocketmq``, ``side-by-side``; ``language``: ``en`` or ``zh``."""
    return {name: make(LANGUAGES[language]) for name, make in SHEETS.items()}
