"""Example scenarios, captured output of the real tools, and a project that tests a consumer: `equipoise examples`."""
