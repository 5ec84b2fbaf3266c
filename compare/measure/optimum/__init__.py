"""The best that a group's subscriptions allow: how fair it can be, how few moves lead there, and the proof of both."""

from compare.measure.optimum.bound import holds
from compare.measure.optimum.certificate import Certificate, CertificateError, CertifiedBlock, least_moves, verify
from compare.measure.optimum.optima import fairest_allocation, fairest_loads, optimum
from compare.measure.optimum.record import Bound, Optimum

__all__ = [
    "Bound",
    "Certificate",
    "CertificateError",
    "CertifiedBlock",
    "Optimum",
    "fairest_allocation",
    "fairest_loads",
    "holds",
    "least_moves",
    "optimum",
    "verify",
]
