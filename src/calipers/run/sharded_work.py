"""The work of one shard of a run: all work is read, and that of the other shards is left out."""

import hashlib
from collections.abc import Iterator

from calipers.identity.case_content import case_key
from calipers.report.shard import Shard

from .work import Work


class ShardedWork:
    """Leaves out the work of other shards, and takes a digest of the whole dataset as it goes by."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._digest = hashlib.blake2b(digest_size=16)
        self._is_known = True
        self._total = 0
        self._is_over = False

    @property
    def total(self) -> int | None:
        """The attempts of the whole run; `None` while there is more to read."""
        return self._total if self._is_over else None

    @property
    def dataset(self) -> str | None:
        """A digest of all cases in their order; `None` if that of a case is not known, and while there is more to read."""
        return self._digest.hexdigest() if self._is_over and self._is_known else None

    def follow(self, items: Iterator[Work]) -> Iterator[Work]:
        """The items of this shard, each in its place in the whole run."""
        case = -1
        for work in items:
            if work.repeat_index == 1:
                case += 1
                self._take(work)
            self._total += 1
            if self._shard.has(case):
                yield work
        self._is_over = True

    def _take(self, work: Work) -> None:
        content = b"" if work.problem is not None else case_key(work.case)
        if content is None:
            self._is_known = False
            return
        name = work.case_name.encode("utf-8", "surrogatepass")
        self._digest.update(b"%d %d " % (len(name), len(content)) + name + content)
