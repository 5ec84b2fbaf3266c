"""The engine runs nodes in virtual time and counts the messages that they send; `docs/engine.md` says why so."""
