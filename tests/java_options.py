"""What the Java of tests is told, over what `dev.py` tells those that live for seconds."""

from __future__ import annotations

LONG_LIVED = " ".join(
    (
        "-XX:+UseTransparentHugePages",
        "-XX:TieredStopAtLevel=4",  # the slow compiler pays in minutes
    )
)
INTERPRETED = "-Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN"
"""For a few hundred rows, generating code costs more than it saves; the demo generates it."""
