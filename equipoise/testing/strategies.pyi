from compare.testing.strategies import *
