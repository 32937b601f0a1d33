"""Settings for the whole suite."""

import signal

from hypothesis import HealthCheck, settings

# No test asserts how long something takes, so hypothesis does not either: machines differ, and are busy.
settings.register_profile("calipers", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calipers")

# A job started in the background by a shell ignores Ctrl-C, and so would every program that tests interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
