"""The audit as one HTML file that a person enjoys: no network, no time stamp, the same bytes for the same document."""

from compare.audit.report.page import write_report

__all__ = ["write_report"]
