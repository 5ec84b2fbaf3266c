"""The engine: it runs nodes in virtual time, passes quiet times over, and counts what they send (docs/engine.md)."""
