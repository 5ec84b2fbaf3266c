from compare.testing.confluent.errors import *
