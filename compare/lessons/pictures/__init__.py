"""Pictures of what the engine did: plain SVG, the same text for the same run, each with its content in words."""

from compare.lessons.pictures.lines import lines
from compare.lessons.pictures.loads import loads
from compare.lessons.pictures.messages import messages
from compare.lessons.pictures.states import states
from compare.lessons.pictures.svg import Picture
from compare.lessons.pictures.timeline import timeline

__all__ = ["Picture", "lines", "loads", "messages", "states", "timeline"]
