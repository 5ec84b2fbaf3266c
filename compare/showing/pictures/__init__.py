"""Pictures of what the engine did: plain SVG, the same text for the same run, each with its content in words."""

from compare.showing.pictures.charts import Picture, lines, loads
from compare.showing.pictures.messages import messages
from compare.showing.pictures.timeline import timeline
from compare.showing.states import states

__all__ = ["Picture", "lines", "loads", "messages", "states", "timeline"]
