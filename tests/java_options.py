"""What the Java of tests is told, over what `dev.py` tells those that live for seconds."""

from __future__ import annotations

LONG_LIVED = " ".join(
    (
        "-XX:+UseTransparentHugePages",
        # The slow compiler pays in minutes, for what runs most by far.
        "-XX:TieredStopAtLevel=4",
        "-XX:Tier4InvocationThreshold=100000",
        "-XX:Tier4MinInvocationThreshold=12000",
        "-XX:Tier4CompileThreshold=300000",
        "-XX:Tier4BackEdgeThreshold=800000",
    )
)
INTERPRETED = "-Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN"
"""For a few hundred rows, generating code costs more than it saves; the demo generates it."""
