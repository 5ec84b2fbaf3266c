"""The verb `states`: state machines drawn from the same tables that the code runs."""
