"""Pictures of what the engine did: plain SVG, the same text for the same run, each with its content in words."""

from compare.pictures.lines import lines
from compare.pictures.loads import loads
from compare.pictures.messages import messages
from compare.pictures.states import states
from compare.pictures.svg import Picture
from compare.pictures.timeline import timeline

__all__ = ["Picture", "lines", "loads", "messages", "states", "timeline"]
