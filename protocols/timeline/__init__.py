"""The facts of a simulation as a timeline, and what is computed from it: rows, text, diagrams, figures, properties."""

from protocols.timeline.invariants import InvariantError, may_own_in, reads_in
from protocols.timeline.lifetimes import PER_BROKER, THROUGHOUT, Lifetimes, Numbering, lifetimes
from protocols.timeline.recorder import Recorder
from protocols.timeline.timeline import Timeline

__all__ = [
    "PER_BROKER",
    "THROUGHOUT",
    "InvariantError",
    "Lifetimes",
    "Numbering",
    "Recorder",
    "Timeline",
    "lifetimes",
    "may_own_in",
    "reads_in",
]
