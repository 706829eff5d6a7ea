"""What holds for every search of hypothesis: no example has a time limit."""

from hypothesis import settings

settings.register_profile("tests", deadline=None)
settings.load_profile("tests")
