"""A limit of requests and tokens, as providers of models have them: buckets that fill again at a steady rate.

```python
limit = RateLimit(requests=600, tokens=60_000)
with OpenAIServer(Reply(text="Hello"), limit=limit) as server:
    ...
print(limit.taken, limit.refused)
```

A request beyond the limit is refused with the status 429. What a provider says in its headers, the server of its protocol says, too: what is left and
when there is all of it again; and how long to wait. With `tells=False` it says nothing.
"""

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Literal, NamedTuple, TypeAlias

from calipers.data.argument_checks import check_number, check_whole_number

Words: TypeAlias = Literal["openai", "anthropic", "none"]
"""Whose headers a server sends."""


class Decision(NamedTuple):
    """What becomes of one request."""

    taken: bool
    headers: Mapping[str, str]
    wait: float
    """Seconds until it would be taken, if it is not."""


class Bucket:
    """So much of one thing, which fills again."""

    def __init__(self, most: float, seconds: float, now: float) -> None:
        self.most = most
        """How much there can be."""
        self.left = most
        """How much there is."""
        self.rate = most / seconds
        """How much there is more of it each second."""
        self.at = now

    def fill(self, now: float) -> None:
        """Let the time pass until now."""
        self.left = min(self.most, self.left + self.rate * (now - self.at))
        self.at = now

    @property
    def full_in(self) -> float:
        """Seconds until it is full."""
        return (self.most - self.left) / self.rate


class RateLimit:
    """What a server takes in a window of time.

    Args:
        requests: in a window.
        tokens: in a window; `None`: any number.
        seconds: the window. A minute, unless you want to see more of it in less time.
        tells: whether answers say what is left, and refusals how long to wait.
        clock: the time, in seconds.
    """

    def __init__(
        self,
        requests: int,
        tokens: int | None = None,
        *,
        seconds: float = 60.0,
        tells: bool = True,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.tells = tells
        self.taken = 0
        """Requests that were taken."""
        self.tokens_taken = 0
        self.refused = 0
        """Requests that were refused."""
        self.log: list[tuple[float, bool, int]] = []
        """Of each request: when it came, whether it was taken, its tokens."""
        self.buckets: dict[str, Bucket] = {}
        """What there is of requests and of tokens."""
        self.change(requests, tokens, seconds=seconds)

    def change(self, requests: int, tokens: int | None = None, *, seconds: float = 60.0) -> None:
        """Take so much from now on; what is in the buckets stays there, as far as it fits."""
        check_whole_number("requests", requests, at_least=1)
        check_whole_number("tokens", tokens, at_least=1, or_none=True)
        check_number("seconds", seconds, above=0)
        with self._lock:
            now = self._clock()
            before = self.buckets
            wanted = {"requests": requests, **({} if tokens is None else {"tokens": tokens})}
            self.buckets = {kind: Bucket(most, seconds, now) for kind, most in wanted.items()}
            for kind, bucket in self.buckets.items():
                if kind in before:
                    before[kind].fill(now)
                    bucket.left = min(bucket.most, before[kind].left)

    def ask(self, tokens: int, words: Words = "none") -> Decision:
        """Take a request, or refuse it."""
        with self._lock:
            now = self._clock()
            cost = {"requests": 1, "tokens": tokens}
            for bucket in self.buckets.values():
                bucket.fill(now)
            missing = {kind: cost[kind] - bucket.left for kind, bucket in self.buckets.items()}
            taken = max(missing.values()) <= 0
            self.log.append((now, taken, tokens))
            if taken:
                self.taken += 1
                self.tokens_taken += tokens
                for kind, bucket in self.buckets.items():
                    bucket.left -= cost[kind]
            else:
                self.refused += 1
            wait = max(0.0, *(gap / self.buckets[kind].rate for kind, gap in missing.items()))
            return Decision(taken, self._headers(words, wait) if self.tells else {}, wait)

    def _headers(self, words: Words, wait: float) -> dict[str, str]:
        told: dict[str, str] = {}
        for kind, bucket in self.buckets.items():
            if words == "openai":
                told[f"x-ratelimit-limit-{kind}"] = str(int(bucket.most))
                told[f"x-ratelimit-remaining-{kind}"] = str(int(bucket.left))
                told[f"x-ratelimit-reset-{kind}"] = f"{bucket.full_in * 1000:.0f}ms"
            elif words == "anthropic":
                full = datetime.now(UTC) + timedelta(seconds=bucket.full_in)
                told[f"anthropic-ratelimit-{kind}-limit"] = str(int(bucket.most))
                told[f"anthropic-ratelimit-{kind}-remaining"] = str(int(bucket.left))
                told[f"anthropic-ratelimit-{kind}-reset"] = full.isoformat().replace("+00:00", "Z")
        if wait and words == "openai":
            told["retry-after-ms"] = f"{wait * 1000:.0f}"
        if wait and words == "anthropic":
            told["retry-after"] = f"{wait:.3f}"
        return told
