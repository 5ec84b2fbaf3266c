"""The door to our packages where somebody else may have their names: ``from equipoise.testing import kafka_group``.

``equipoise.`` in front of the name of any of our modules gives that module, whatever lies in the project that imports
it: ``equipoise.compare.testing.strategies``, ``equipoise.protocols``. ``equipoise.testing`` is short for
``equipoise.compare.testing``. How that works is told in `equipoise.finder`.
"""

from equipoise.finder import install

install()
