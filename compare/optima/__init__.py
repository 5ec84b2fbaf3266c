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
from compare.optima.load_aware import LoadAware, QueueLoad, load_aware
from compare.optima.optima import fairest_allocation, fairest_loads, optimum
from compare.optima.paying import PayingMoves, moves_that_pay
from compare.optima.weighted import holds

__all__ = [
    "Bound",
    "Certificate",
    "CertificateError",
    "CertifiedBlock",
    "LoadAware",
    "Optimum",
    "PayingMoves",
    "QueueLoad",
    "fairest_allocation",
    "fairest_loads",
    "holds",
    "least_moves",
    "load_aware",
    "moves_that_pay",
    "optimum",
    "verify",
]
