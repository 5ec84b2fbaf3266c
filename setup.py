"""What pyproject.toml cannot say: the folder `examples` is installed, too, as the package `equipoise_examples`."""

from setuptools import find_packages, setup

EXAMPLES = "equipoise_examples"

setup(
    packages=[
        *find_packages(include=["protocols*", "kafka_coordinator*", "rocketmq_selfbalance*", "compare*", "equipoise"]),
        EXAMPLES,
    ],
    package_dir={EXAMPLES: "examples"},
)
