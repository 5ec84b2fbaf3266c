"""Pictures of what the engine did: plain SVG, the same text for the same run, each with its content in words."""

from typing import TYPE_CHECKING

from compare.showing.pictures.charts import Picture, lines, loads
from compare.showing.pictures.messages import messages
from compare.showing.pictures.timeline import timeline
from protocols.named_modules import lazy_names

if TYPE_CHECKING:  # Its drawings need the charts of this package, so that it cannot be imported before them.
    from compare.showing.states import states

__all__ = ["Picture", "lines", "loads", "messages", "states", "timeline"]

__getattr__ = lazy_names(__name__)
