"""Sentences about runs and groups: verdicts with their figures, headlines, reasons for missing figures."""
