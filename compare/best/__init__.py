"""The best that a group's subscriptions allow: how fair it can be, how few moves lead there, and the proof of both."""

from compare.best.bound import holds
from compare.best.certificate import Certificate, CertificateError, CertifiedBlock, least_moves, verify
from compare.best.optima import fairest_loads, optimum
from compare.best.record import Bound, Optimum

__all__ = [
    "Bound",
    "Certificate",
    "CertificateError",
    "CertifiedBlock",
    "Optimum",
    "fairest_loads",
    "holds",
    "least_moves",
    "optimum",
    "verify",
]
