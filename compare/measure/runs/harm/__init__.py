"""What hurts in a run: records that were never written or never handled, time without progress; and why."""
