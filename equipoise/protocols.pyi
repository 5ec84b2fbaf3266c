from protocols import *
