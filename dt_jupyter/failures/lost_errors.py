"""Errors of Delta that PySpark loses.

PySpark 4.2 writes each error that has a place in a text to its log as it is made, in the words that
its own catalogue has for it. Delta's are not in there, so PySpark raises the error of that look-up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dt_jupyter.failures.signs import causes, java_causes

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

_LOST = "Cannot find main error class"
_ANALYSIS = "org.apache.spark.sql.AnalysisException"


def find_lost_error(failure: BaseException) -> BaseException:
    """The error of Delta that was meant; any other failure is itself."""
    told = java_causes(getattr(failure, "java_exception", None))
    if not told or _LOST not in told[0][1]:
        return failure
    for cause in causes(failure, handled=True):
        meant = getattr(cause, "java_exception", None)
        if meant is not None and cause is not failure:
            return _made(meant)
    return failure


def _made(java: Any) -> PySparkException:
    """As PySpark makes it, without the log: what the JVM says of it is asked when it is needed."""
    from py4j.java_gateway import is_instance_of
    from pyspark import SparkContext
    from pyspark.errors.exceptions.captured import AnalysisException, UnknownException

    analysis = is_instance_of(SparkContext._gateway, java, _ANALYSIS)
    kind = AnalysisException if analysis else UnknownException
    made = kind(desc=str(java.getMessage()), stackTrace="")
    made._origin = java
    return made
