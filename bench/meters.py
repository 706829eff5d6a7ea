"""Where the time of a piece of work goes: CPU of the JVM and of Python, and of what in the JVM."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Reading:
    """Seconds, but for the number of classes that Spark generated.

    `cpu` is of both processes; `python` its part outside the JVM, which delta-rs and Arrow run in.
    `jit` and `gc` are what the JVM says of its compiler and collector; `rules` the analyser's and
    optimizer's; `tasks` the CPU of Spark's tasks.
    """

    wall: float
    cpu: float
    python: float
    jit: float
    gc: float
    rules: float
    tasks: float
    classes: float

    def since(self, before: Reading) -> Reading:
        """What was spent between two readings."""
        return Reading(*(b - a for a, b in zip(astuple(before), astuple(self), strict=True)))


def read_memory(spark: SparkSession) -> tuple[float, float]:
    """Megabytes of this process, and of the JVM's heap that are in use after a collection."""
    gc.collect()
    jvm: Any = spark._jvm
    jvm.java.lang.System.gc()
    heap = jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage()
    return psutil.Process().memory_info().rss / MEGABYTE, heap.getUsed() / MEGABYTE


class Meters:
    """Reads the meters of a classic Spark session and of this process."""

    def __init__(self, spark: SparkSession) -> None:
        self._java: Any = spark._jvm
        self._context = spark.sparkContext._jsc.sc()
        factory = self._java.java.lang.management.ManagementFactory
        self._compiler = factory.getCompilationMXBean()
        self._collectors = list(factory.getGarbageCollectorMXBeans())
        system = self._java.javax.management.ObjectName("java.lang:type=OperatingSystem")
        gauge = self._java.com.codahale.metrics.jvm.JmxAttributeGauge
        self._jvm_cpu = gauge(system, "ProcessCpuTime")
        package = self._java.org.apache.spark
        self._classes = package.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
        self._rules = package.sql.catalyst.rules.RuleExecutor
        gateway = spark.sparkContext._gateway
        self._no_quantiles = gateway.new_array(gateway.jvm.double, 0)
        self._tasks = 0.0
        self._stages: set[int] = set()

    def read(self, tasks: float) -> Reading:
        """The meters now, beside the CPU of tasks, which takes long to ask for."""
        python = time.process_time()
        jvm = self._jvm_cpu.getValue() / 1e9
        return Reading(
            wall=time.perf_counter(),
            cpu=python + jvm,
            python=python,
            jit=self._compiler.getTotalCompilationTime() / 1e3,
            gc=sum(c.getCollectionTime() for c in self._collectors) / 1e3,
            rules=self._rules.getCurrentMetrics().time() / 1e9,
            tasks=tasks,
            classes=float(self._classes.getCount()),
        )

    def _task_seconds(self) -> float:
        """CPU of all stages' tasks so far; those that the status store has dropped stay counted."""
        none = self._java.java.util.ArrayList()
        store = self._context.statusStore()
        stages = store.stageList(None, False, False, self._no_quantiles, none)
        for at in range(stages.size()):
            stage = stages.apply(at)
            if stage.stageId() in self._stages or str(stage.status()) != "COMPLETE":
                continue
            self._stages.add(stage.stageId())
            self._tasks += stage.executorCpuTime() / 1e9
        return self._tasks

    def measure(self, work: Callable[[], object]) -> Reading:
        """What `work` spends, Spark's listeners included; not what it takes to ask for it."""
        self._context.listenerBus().waitUntilEmpty()
        before = self.read(self._task_seconds())
        work()
        self._context.listenerBus().waitUntilEmpty()
        after = self.read(0.0)
        return replace(after, tasks=self._task_seconds()).since(before)
