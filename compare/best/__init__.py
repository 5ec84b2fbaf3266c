"""The best that a group's subscriptions allow: how fair it can be, how few moves lead there, and the proof of both."""

from compare.best.bound import holds
from compare.best.certificate import Certificate, CertificateError, CertifiedBlock, least_moves, verify
from compare.best.optima import fairest_loads, optimum
from compare.best.record import Bound, Optimum
from compare.best.useful_members import NextUseful, Step, even_counts, next_useful, steps, useful, with_members

__all__ = [
    "Bound",
    "Certificate",
    "CertificateError",
    "CertifiedBlock",
    "NextUseful",
    "Optimum",
    "Step",
    "even_counts",
    "fairest_loads",
    "holds",
    "least_moves",
    "next_useful",
    "optimum",
    "steps",
    "useful",
    "verify",
    "with_members",
]
