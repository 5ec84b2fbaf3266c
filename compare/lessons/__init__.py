"""What the notebooks import: `runs` runs scenarios, `pictures` draws them, `folding` hides answers, `checks` judges the
exercises. It comes with the package, so that a notebook needs no other file."""
