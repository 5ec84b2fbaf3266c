"""Links that had a fault a while ago: who waits for an answer may wait in vain (`links.Link.harmed`)."""

from protocols.engine.links import NEVER, Link
from protocols.engine.nodes import Time
from protocols.engine.process import Process


def may_wait_in_vain(link: Link, now: Time, within: Time) -> bool:
    """Whether somebody may still do so who waits so many milliseconds for an answer from either side."""
    harmed = max(link.harmed, link.back.harmed)
    return harmed > NEVER and now < harmed + within


def lost_since(process: Process, peer: str, since: Time) -> bool:
    """Whether a message between the two was lost or delayed since then."""
    link = process.links.get(peer)
    return link is not None and max(link.harmed, link.back.harmed) >= since
