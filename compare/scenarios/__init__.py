"""Scenarios lived through by several systems side by side: `equipoise compare`."""
