"""Settings for the whole suite."""

from hypothesis import HealthCheck, settings

# No test asserts how long something takes, so hypothesis does not either: machines differ, and are busy.
settings.register_profile("calipers", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calipers")
