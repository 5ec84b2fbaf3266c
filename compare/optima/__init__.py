"""The best that a group's subscriptions allow: how fair it can be, how few moves lead there, and the proof of both."""

from compare.optima.certificate import (
    Bound,
    Certificate,
    CertificateError,
    CertifiedBlock,
    Optimum,
    least_moves,
    verify,
)
from compare.optima.optima import fairest_allocation, fairest_loads, optimum
from compare.optima.weighted import holds

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
