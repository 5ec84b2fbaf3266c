"""Errors that are the user's to mend: one clear line that says what, where and what was expected."""


class UserError(ValueError):
    """Bad input. ``str(error)`` is one line; commands print it and exit with 2."""


class GroupError(UserError):
    """A group, member, subscription or allocation that cannot be."""


class StrategyError(UserError):
    """An unknown strategy, or settings that it does not have."""
