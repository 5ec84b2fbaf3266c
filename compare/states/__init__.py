"""The verb `states`: state machines drawn from the tables from which the code runs."""
