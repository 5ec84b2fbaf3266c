"""Why a group is as it is: one search per sort of cause, each yields what it finds.

A search accuses only where what the tools print leaves no harmless reading, or says in the sentence that it guesses.
"""
