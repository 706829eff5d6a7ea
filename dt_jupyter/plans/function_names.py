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
    "ApproxTopKCombine": "approx_top_k_combine", "ApproxTopKEstimate": "approx_top_k_estimate",
    "ApproximatePercentile": "percentile_approx", "ArrayAggregate": "aggregate",
    "ArrayExists": "exists", "ArrayFilter": "filter", "ArrayForAll": "forall",
    "ArrayTransform": "transform", "Average": "avg", "BitAndAgg": "bit_and",
    "BitOrAgg": "bit_or", "BitXorAgg": "bit_xor", "BitwiseCount": "bit_count",
    "BitwiseGet": "getbit", "CallMethodViaReflection": "reflect",
    "CovPopulation": "covar_pop", "CovSample": "covar_samp",
    "CreateArray": "array", "CreateMap": "map", "CreateNamedStruct": "named_struct",
    "CurrentTimeZone": "current_timezone", "DateFormatClass": "date_format", "EulerNumber": "e",
    "Extract": "date_part", "FromUTCTimestamp": "from_utc_timestamp",
    "FromUnixTime": "from_unixtime", "KllSketchGetNBigint": "kll_sketch_get_n_bigint",
    "KllSketchGetNDouble": "kll_sketch_get_n_double",
    "KllSketchGetNFloat": "kll_sketch_get_n_float",
    "LengthOfJsonArray": "json_array_length", "Log": "ln",
    "Logarithm": "log", "Luhncheck": "luhn_check", "MakeDTInterval": "make_dt_interval",
    "MakeTimestampFromDateTime": "make_timestamp",
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
    "StructsToJson": "to_json", "StructsToXml": "to_xml", "ToDegrees": "degrees",
    "ToRadians": "radians", "ToUTCTimestamp": "to_utc_timestamp", "TruncDate": "trunc",
    "TruncTimestamp": "date_trunc", "TryMakeTimestampFromDateTime": "try_make_timestamp",
    "UnaryPositive": "positive", "VariancePop": "var_pop", "VarianceSamp": "var_samp",
    "XPathList": "xpath",
}  # fmt: skip
_NAMED = {"BinaryPredicate": "prettyName", "BinaryPad": "funcName"}
"""The fields in which calls on binaries have their names."""
_TRIED = {"MakeTimestamp": "failOnError", "ParseToTimestamp": "failOnError",
          "ParseToDate": "ansiEnabled"}  # fmt: skip
"""Of calls that are of one class whether they fail or give NULL: the field that says so."""
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
    if node.kind in _NAMED:
        named = str(node.fields[_NAMED[node.kind]])
        return named if named in builtins else None
    name = sql_function(node.kind, builtins)
    if node.kind in _TRIED and name is not None:
        return _of_its_type(node, name, builtins)
    if node.eval_mode != TRY and not (node.kind == "ParseJson" and not node.fields["failOnError"]):
        return name
    tried = (f"try_{name}", f"try_{node.kind.lower()}")
    return next((t for t in tried if t in builtins), None)


def _of_its_type(node: SparkNode, name: str, builtins: Collection[str]) -> str:
    """The variant of a function that gives times with or without a zone, and fails or does not."""
    typed = f"{name}_ntz" if node.fields.get("dataType") == "timestamp_ntz" else name
    tried = f"try_{typed}" if node.fields[_TRIED[node.kind]] is False else typed
    return next(n for n in (tried, typed, name) if n in builtins)
