"""What the reports of `audit` and `compare` share: one file that needs no network, its frame, style and script."""
