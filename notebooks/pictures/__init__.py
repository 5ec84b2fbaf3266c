"""Pictures of what the engine did: plain SVG, the same text for the same run, each with its content in words."""

from pictures.lines import lines
from pictures.loads import loads
from pictures.messages import messages
from pictures.states import states
from pictures.svg import Picture
from pictures.timeline import timeline

__all__ = ["Picture", "lines", "loads", "messages", "states", "timeline"]
