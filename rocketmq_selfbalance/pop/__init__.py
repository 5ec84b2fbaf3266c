"""POP: the broker gives out single messages, each invisible to others for a time, and no queue has an owner."""
