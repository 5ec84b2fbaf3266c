"""Tests of `compare.showing.pictures`."""
