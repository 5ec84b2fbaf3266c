from compare.testing.brokers import *
