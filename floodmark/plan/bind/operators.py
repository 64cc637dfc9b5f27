"""Operators: the functions of the registry that they call."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

OPERATORS: Mapping[type[exp.Expression], str] = MappingProxyType(
    {
        exp.Add: "+",
        exp.Sub: "-",
        exp.Mul: "*",
        exp.Div: "/",
        exp.Mod: "%",
        exp.Pow: "^",
        exp.EQ: "=",
        exp.NEQ: "<>",
        exp.LT: "<",
        exp.LTE: "<=",
        exp.GT: ">",
        exp.GTE: ">=",
        exp.DPipe: "||",
        exp.BitwiseAnd: "&",
        exp.BitwiseOr: "|",
        exp.BitwiseXor: "#",
        exp.BitwiseLeftShift: "<<",
        exp.BitwiseRightShift: ">>",
        exp.Like: "like",
        exp.ILike: "ilike",
        exp.RegexpLike: "~",
        exp.RegexpILike: "~*",
        exp.JSONExtract: "->",
        exp.JSONExtractScalar: "->>",
        exp.JSONBExtract: "#>",
        exp.JSONBExtractScalar: "#>>",
        exp.ArrayContainsAll: "@>",
        exp.ArrayContainedBy: "<@",
        exp.ArrayOverlaps: "&&",
        exp.JSONBContains: "?",
        exp.JSONBContainsAnyTopKeys: "?|",
        exp.JSONBContainsAllTopKeys: "?&",
        exp.JSONBDeleteAtPath: "#-",
        exp.SimilarTo: "similar",
        exp.NullSafeEQ: "is_not_distinct_from",
        exp.NullSafeNEQ: "is_distinct_from",
    }
)
