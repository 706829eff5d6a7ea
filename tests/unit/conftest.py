"""What holds for every search of hypothesis: no example has a time limit. A recording ends with the
tests."""

import pytest
from hypothesis import settings

from tests.recorded_plans import RECORDING, write_stores

settings.register_profile("tests", deadline=None)
settings.load_profile("tests")


def pytest_sessionfinish(exitstatus: int) -> None:
    if RECORDING:
        write_stores(passed=exitstatus == pytest.ExitCode.OK)
