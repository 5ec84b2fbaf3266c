from compare.testing.contents import *
