"""Which experiment with faults a test is of, by a mark: `python -m bench.faults` counts them.

A test tells by `record_property` how many `cases` it tried, where these are several, and by
`recovery` the seconds from each fault to the next refresh that succeeded.
"""

from __future__ import annotations

import pytest

KILLED_IN_REFRESH = pytest.mark.faults("killed in a refresh")
KILLED_IN_CONSUMPTION = pytest.mark.faults("killed in a stream's consumption or a transaction")
KILLED_ELSEWHERE = pytest.mark.faults("killed in a rename, a delivery or a replay")
TWO_PROCESSES = pytest.mark.faults("two processes at once")
STOPPED = pytest.mark.faults("stopped past its lease, and woken")
VACUUM = pytest.mark.faults("OPTIMIZE or VACUUM from outside, files lost")
SOURCE_CHANGED = pytest.mark.faults("a source dropped, recreated, altered")
DISK_FULL = pytest.mark.faults("disk full")
CALL_FAILS = pytest.mark.faults("the n-th call of catalog or storage fails")
LOG_BROKEN = pytest.mark.faults("a log cut short or damaged")
CATALOG_LOST = pytest.mark.faults("the catalog deleted, or an older one put back")
CATALOG_DAMAGED = pytest.mark.faults("any value in any column of the catalog")
CLOCK = pytest.mark.faults("a clock that is set back")
AWAY = pytest.mark.faults("an executor killed, storage or the catalog's server away")
JAVA = pytest.mark.faults("Java killed, a session stopped")
RANDOM_LIVES = pytest.mark.faults("random graphs, statements and refreshes")
