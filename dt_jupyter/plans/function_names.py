"""The names that SQL has for the classes of Spark's expressions."""

from __future__ import annotations

import re
from collections.abc import Collection

from dt_jupyter.plans.plan_tree import SparkNode

INFIX = {
    "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "IntegralDivide": "DIV",
    "Remainder": "%", "EqualTo": "=", "EqualNullSafe": "<=>", "GreaterThan": ">",
    "GreaterThanOrEqual": ">=", "LessThan": "<", "LessThanOrEqual": "<=", "And": "AND",
    "Or": "OR", "BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^", "RLike": "RLIKE",
    "TimestampAddInterval": "+", "DateAddInterval": "+", "DateAddYMInterval": "+",
    "TimestampAddYMInterval": "+", "TimeAdd": "+", "SubtractTimestamps": "-", "SubtractDates": "-",
    "MultiplyDTInterval": "*", "MultiplyYMInterval": "*", "DivideDTInterval": "/",
    "DivideYMInterval": "/",
}  # fmt: skip
"""Of two operands."""

_NAMES = {
    "ApproxTopKAccumulate": "approx_top_k_accumulate",
    "ApproxTopKCombine": "approx_top_k_combine",
    "ApproximatePercentile": "percentile_approx", "ArrayAggregate": "aggregate",
    "ArrayExists": "exists", "ArrayFilter": "filter", "ArrayForAll": "forall",
    "ArrayTransform": "transform", "Average": "avg", "BitAndAgg": "bit_and",
    "BitOrAgg": "bit_or", "BitXorAgg": "bit_xor", "BitwiseCount": "bit_count",
    "BitwiseGet": "getbit", "CallMethodViaReflection": "reflect",
    "CovPopulation": "covar_pop", "CovSample": "covar_samp",
    "CreateArray": "array", "CreateMap": "map", "CreateNamedStruct": "named_struct",
    "CurrentTimeZone": "current_timezone", "DateFormatClass": "date_format", "EulerNumber": "e",
    "Extract": "date_part", "FromUTCTimestamp": "from_utc_timestamp",
    "FromUnixTime": "from_unixtime", "LengthOfJsonArray": "json_array_length", "Log": "ln",
    "Logarithm": "log", "Luhncheck": "luhn_check", "MakeDTInterval": "make_dt_interval",
    "MakeYMInterval": "make_ym_interval", "MicrosToTimestamp": "timestamp_micros",
    "MillisToTimestamp": "timestamp_millis", "Murmur3Hash": "hash", "ParseToDate": "to_date",
    "ParseToTimestamp": "to_timestamp", "RegExpCount": "regexp_count",
    "RegExpExtract": "regexp_extract", "RegExpExtractAll": "regexp_extract_all",
    "RegExpInStr": "regexp_instr", "RegExpReplace": "regexp_replace",
    "RegExpSubStr": "regexp_substr", "RegrAvgX": "regr_avgx", "RegrAvgY": "regr_avgy",
    "RegrSXX": "regr_sxx", "RegrSXY": "regr_sxy", "RegrSYY": "regr_syy",
    "RoundCeil": "ceil", "RoundFloor": "floor",
    "SecondsToTimestamp": "timestamp_seconds", "StringInstr": "instr", "StringLPad": "lpad",
    "StringLocate": "locate", "StringRPad": "rpad", "StringRepeat": "repeat",
    "StringReplace": "replace", "StringSpace": "space", "StringSplit": "split",
    "StringToMap": "str_to_map", "StringTranslate": "translate", "StringTrim": "trim",
    "StringTrimBoth": "btrim", "StringTrimLeft": "ltrim", "StringTrimRight": "rtrim",
    "StructsToCsv": "to_csv", "ToCharacter": "to_char",
    "StructsToJson": "to_json", "ToDegrees": "degrees",
    "ToRadians": "radians", "ToUTCTimestamp": "to_utc_timestamp", "TruncDate": "trunc",
    "TruncTimestamp": "date_trunc", "UnaryPositive": "positive", "VariancePop": "var_pop",
    "VarianceSamp": "var_samp",
}  # fmt: skip
TRY = "TRY"
"""The mode of an expression that gives NULL where it has no value."""
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def sql_function(kind: str, builtins: Collection[str]) -> str | None:
    """The function whose calls are expressions of a class; None where there is none of that name.

    Most classes are called as their function is, in one word or in several.
    """
    names = (_NAMES.get(kind), kind.lower(), _WORD.sub("_", kind).lower())
    return next((n for n in names if n is not None and n in builtins), None)


def called_function(node: SparkNode, builtins: Collection[str]) -> str | None:
    """The function that an expression is a call of, as `try_sum` of a sum that gives NULL where it
    has no value; None where there is none of that name."""
    name = sql_function(node.kind, builtins)
    if node.eval_mode != TRY and not (node.kind == "ParseJson" and not node.fields["failOnError"]):
        return name
    tried = (f"try_{name}", f"try_{node.kind.lower()}")
    return next((t for t in tried if t in builtins), None)
