"""Tests of `compare.pictures`."""
