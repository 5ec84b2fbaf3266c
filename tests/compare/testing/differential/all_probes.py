"""Every probe of the real consumer and producer, by name: importing a module of probes adds them."""

from tests.compare.testing.differential import (  # noqa: F401
    calls,
    classes,
    configurations,
    producers,
    stories_of_assigning,
    stories_of_clients,
    stories_of_commits,
    stories_of_reading,
    stories_of_transactions,
)
from tests.compare.testing.differential.probing import PROBES

__all__ = ["PROBES"]
