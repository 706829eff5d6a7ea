"""What the Java of tests is told, over what `dev.py` tells those that live for seconds."""

from __future__ import annotations

LONG_LIVED = " ".join(
    (
        "-XX:+UseTransparentHugePages",
        "-XX:TieredStopAtLevel=4",  # the slow compiler pays in minutes,
        "-XX:Tier4InvocationThreshold=15000",  # for what is called three times as often as usual
        "-XX:Tier4MinInvocationThreshold=2000",
        "-XX:Tier4CompileThreshold=45000",
        "-XX:Tier4BackEdgeThreshold=120000",
        "-XX:MetaspaceSize=256m",
    )
)
INTERPRETED = "-Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN"
"""For a few hundred rows, generating code costs more than it saves; the demo generates it."""
