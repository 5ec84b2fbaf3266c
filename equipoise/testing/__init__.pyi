from compare.testing import *
