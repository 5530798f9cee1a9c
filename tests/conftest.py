"""Every run tries the same examples: a failure of the gate is a failure of the code."""

from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]  # runs of pytest inside a test

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],  # measures the machine, not the code
)
settings.load_profile("ci")
