"""What the notebooks import: `runs` runs scenarios, `folding` hides answers, `checks` judges the exercises. It comes
with the package, so that a notebook needs no other file."""
