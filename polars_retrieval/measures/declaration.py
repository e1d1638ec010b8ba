"""What a measure is: a declared formula with a name, parameters, and the names that others give it."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from polars_retrieval.errors import MetricError, ParameterError
from polars_retrieval.names import hint, quoted
from polars_retrieval.options import check_bool, check_choice, check_cutoff, check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from polars_retrieval.measures.ranked import Ranked

REGISTRY: dict[str, Measure] = {}

Share = float
"""From 0 to 1."""

Part = float
"""Above 0 and up to 1."""

Gain = Literal["linear", "exponential"]
Denominator = Literal["relevant", "min", "hits"]


@dataclass(frozen=True)
class Alias:
    """A name that another tool gives a measure; `{k}` or `{recall}` in it stands for the value of that parameter."""

    tool: str
    pattern: str
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def match(self, text: str) -> dict[str, str] | None:
        """Return the parameters that a text gives if it is this name."""
        value = r"(?P<\1>\\d+(?:\\.\\d+)?)"
        found = re.fullmatch(re.sub(r"\\{(\w+)\\}", value, re.escape(self.pattern)), text)
        return found.groupdict() if found else None


def alias(tool: str, pattern: str, **fixed: object) -> Alias:
    """Declare another tool's name, with the parameters that the name implies."""
    return Alias(tool, pattern, fixed)


@dataclass(frozen=True)
class Declaration:
    """All that is known of a measure, whatever its parameters; `measure` says what each field means."""

    name: str
    formula: Callable[..., pl.Expr]
    aliases: tuple[Alias, ...]
    undefined_without: str | None
    bounds: tuple[float, float]
    higher_is_better: bool
    source: str
    reads: tuple[str, ...]
    reads_with: Mapping[str, str]
    needs_order_of: str | None
    needs_order_with: tuple[str, ...]
    has_bounds: bool
    translations: Mapping[str, str]

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The formula's parameters after the ranked list."""
        return dict(list(inspect.signature(self.formula).parameters.items())[1:])

    @property
    def summary(self) -> str:
        """The first line of the formula's docstring."""
        return (inspect.getdoc(self.formula) or "").split("\n", 1)[0]


class Measure:
    """A measure with its parameters set: `precision @ 10`, `f_measure(beta=2) @ 10`.

    Calling it sets parameters, ``@`` the cutoff; ``str()`` gives the canonical name, and `parse` reads it back.

    Examples
    --------
    >>> import polars_retrieval as pr
    >>> pr.precision @ 10
    precision@10
    >>> pr.f_measure(beta=2, k=10)
    f_measure(beta=2)@10
    >>> pr.parse("f_measure(beta=2)@10") == pr.f_measure(beta=2) @ 10
    True
    """

    def __init__(self, declaration: Declaration, parameters: Mapping[str, Any] | None = None) -> None:
        self.declaration = declaration
        self.parameters = {} if parameters is None else dict(parameters)
        self.__doc__ = declaration.formula.__doc__

    def __call__(self, **parameters: Any) -> Measure:
        """Set parameters."""
        for name, value in parameters.items():
            self._check(name, value)
        merged = {**self.parameters, **{name: _plain(value) for name, value in parameters.items()}}
        defaults = {name: parameter.default for name, parameter in self.declaration.parameters.items()}
        return Measure(self.declaration, {n: merged[n] for n in defaults if n in merged and merged[n] != defaults[n]})

    def __matmul__(self, k: int) -> Measure:
        """Set the cutoff."""
        return self(k=k)

    def __str__(self) -> str:
        set_here = [f"{name}={value}" for name, value in self.parameters.items() if name != "k"]
        cutoff = f"@{self.parameters['k']}" if "k" in self.parameters else ""
        return self.declaration.name + (f"({', '.join(set_here)})" if set_here else "") + cutoff

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def reads(self) -> frozenset[str]:
        """What the measure wants to know of documents beside whether they are relevant: `grade`, `judged`."""
        with_parameters = {what for name, what in self.declaration.reads_with.items() if name in self.parameters}
        return frozenset(with_parameters.union(self.declaration.reads))

    @property
    def needs_order_of(self) -> str | None:
        """What the measure needs the order of tied documents for, if they differ in it; None if for nothing."""
        is_so = all(name in self.parameters for name in self.declaration.needs_order_with)
        return self.declaration.needs_order_of if is_so else None

    def value(self, ranked: Ranked) -> pl.Expr:
        """Give the measure's value for a query that it is defined for."""
        return self.declaration.formula(ranked, **self.parameters)

    def undefined(self, ranked: Ranked) -> pl.Expr:
        """Tell whether the measure is undefined for the query, as recall is without a relevant document."""
        needed = self.declaration.undefined_without
        return pl.lit(value=False) if needed is None else getattr(ranked, needed) == 0

    def _check(self, name: str, value: object) -> None:
        known = self.declaration.parameters
        if name not in known:
            takes = f"it takes {quoted(known)}" if known else "it takes none"
            msg = f"`{self.declaration.name}` has no parameter `{name}`; {takes}.{hint(name, known)}"
            raise ParameterError(msg)
        _CHECKS[known[name].annotation](name, value)


def _plain(value: Any) -> Any:
    """Write whole numbers as such, so that equal parameters have one name."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_positive(argument: str, given: object) -> None:
    check_number(argument, given)
    if not isinstance(given, (int, float)) or not 0 < given < float("inf"):
        msg = f"`{argument}` has to be a number above 0, got {given!r}"
        raise ParameterError(msg)


def _check_share(argument: str, given: object) -> None:
    check_number(argument, given)
    if not isinstance(given, (int, float)) or not 0 <= given <= 1:
        msg = f"`{argument}` has to be a number from 0 to 1, got {given!r}"
        raise ParameterError(msg)


def _check_part(argument: str, given: object) -> None:
    _check_share(argument, given)
    if given == 0:
        msg = f"`{argument}` has to be a number above 0 and up to 1, got {given!r}"
        raise ParameterError(msg)


def _or_none(check: Callable[[str, object], None]) -> Callable[[str, object], None]:
    return lambda argument, given: None if given is None else check(argument, given)


# By the annotation of a formula's parameter.
_CHECKS: dict[str, Callable[[str, object], None]] = {
    "int | None": check_cutoff,
    "bool": check_bool,
    "float": _check_positive,
    "float | None": _or_none(_check_positive),
    "Share": _check_share,
    "Share | None": _or_none(_check_share),
    "Part | None": _or_none(_check_part),
    "Gain": lambda argument, given: check_choice(argument, given, Gain),
    "Denominator": lambda argument, given: check_choice(argument, given, Denominator),
}


def measure(
    *aliases: Alias,
    undefined_without: str | None = "n_relevant",
    bounds: tuple[float, float] = (0, 1),
    higher_is_better: bool = True,
    source: str,
    reads: tuple[str, ...] = (),
    reads_with: Mapping[str, str] | None = None,
    needs_order_of: str | None = None,
    needs_order_with: tuple[str, ...] = (),
    has_bounds: bool = False,
    translations: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., pl.Expr]], Measure]:
    """Declare a measure: the decorated formula's name is the measure's, its keyword arguments are the parameters.

    Parameters
    ----------
    *aliases
        Names that other tools give it.
    undefined_without
        The count of a query that leaves the measure undefined when it is 0.
    bounds
        The lowest and the highest value that it can have.
    higher_is_better
        Whether a better list scores higher.
    source
        Where it is defined.
    reads
        What it wants to know of documents beside whether they are relevant: their `grade`, whether they were `judged`.
    reads_with
        The same, for a parameter that was set.
    needs_order_of
        No closed form gives its mean over the orders of tied documents that differ in this: whether they are
        `relevant` or not, `judged` to be relevant or not, or their `grade`.
    needs_order_with
        The parameters that have to be set, all of them, for that to be so.
    has_bounds
        Whether it is lowest if all unjudged documents are non-relevant, and highest if all are relevant.
    translations
        What other tools call its parameters and their values.
    """

    def declare(formula: Callable[..., pl.Expr]) -> Measure:
        declaration = Declaration(
            name=formula.__name__,
            formula=formula,
            aliases=aliases,
            undefined_without=undefined_without,
            bounds=bounds,
            higher_is_better=higher_is_better,
            source=source,
            reads=reads,
            reads_with=reads_with or {},
            needs_order_of=needs_order_of,
            needs_order_with=needs_order_with,
            has_bounds=has_bounds,
            translations=translations or {},
        )
        return REGISTRY.setdefault(declaration.name, Measure(declaration))

    return declare


_NAME = re.compile(r"(?P<name>[\w.]+)(?:\((?P<parameters>[^()]*)\))?(?:@(?P<k>[\d.]+))?")


def parse(name: str) -> Measure:
    """Return the measure that a name stands for.

    Parameters
    ----------
    name
        ``name[(parameter=value, …)][@k]``, or a name of ir_measures (``P@10``, ``nDCG(dcg='exp-log2')@10``),
        trec_eval (``P_10``, ``map_cut_10``) or torchmetrics (``RetrievalPrecision``).

    Raises
    ------
    MetricError
        If no measure has that name.
    ParameterError
        If the measure has no such parameter, or the value is not allowed.

    Examples
    --------
    >>> import polars_retrieval as pr
    >>> pr.parse("recall@100")
    recall@100
    >>> pr.parse("P_10")
    precision@10
    >>> pr.parse("RBP(p=0.9)")
    rbp(persistence=0.9)
    """
    if not isinstance(name, str):
        msg = f"a measure's name has to be a string, got {name!r}"  # type: ignore[unreachable]
        raise MetricError(msg)
    text = name.strip()
    found = _NAME.fullmatch(text)
    if found is None:
        raise MetricError(_unknown(name, re.split("[(@]", text)[0].strip()))
    texts = _split_parameters(text, found["parameters"])
    if found["name"] in REGISTRY:
        if found["k"] and ("k" in texts or not found["k"].isdecimal()):
            raise MetricError(_unknown(name, found["name"]))
        texts |= {"k": found["k"]} if found["k"] else {}
        return REGISTRY[found["name"]](**{key: _value(value) for key, value in texts.items()})
    for known in REGISTRY.values():
        for other in known.declaration.aliases:
            # Tools that name parameters put them in brackets before the cutoff; patterns have none.
            if (texts_of := other.match(re.sub(r"\(.*\)", "", text))) is not None:
                ours = _translated(texts, known.declaration.translations)
                if ours.keys() & texts_of.keys() or len(ours) < len(texts):
                    raise ParameterError(_given_twice(text))
                given = {key: _value(value) for key, value in {**texts_of, **ours}.items()}
                return known(**{**other.fixed, **given})
    raise MetricError(_unknown(name, found["name"]))


def _unknown(name: str, word: str) -> str:
    if word in SETS:
        return f"`{word}` stands for several measures: give it to a function that takes `metrics`"
    number = re.search(r"\d+(\.\d+)?$", word)
    values = {"k": number[0], "recall": number[0]} if number else {"k": "10", "recall": "0.10"}
    others = [other.pattern.format(**values) for known in REGISTRY.values() for other in known.declaration.aliases]
    forms = {other.partition("@")[0]: other for other in others if "@" in other}
    forms |= {own: _form(known.declaration) for own, known in REGISTRY.items()}
    if word in forms:
        brackets = ", with parameters in brackets before the `@`" if "@" in forms[word] else ""
        return f"there is no measure `{name}`: `{word}` is written as `{forms[word]}`{brackets}"
    return f"there is no measure `{name}`; measures are {quoted(REGISTRY)}.{hint(word, [*REGISTRY, *SETS, *others])}"


def _form(declaration: Declaration) -> str:
    """Write a measure's name with each of its parameters, and a cutoff if it takes one."""
    own = ", ".join(f"{name}={known.default}" for name, known in declaration.parameters.items() if name != "k")
    return declaration.name + (f"({own})" if own else "") + ("@10" if "k" in declaration.parameters else "")


_OPTIONS_OF_OTHERS = {
    "rel": "`rel`, the grade from which a document is relevant, is an option of evaluation here: `min_relevance`",
    "judged_only": '`judged_only` is an option of evaluation here: `unjudged="drop"`',
}
_CUTOFF_OF_OTHERS = {"top_k": "k", "max_k": "k"}
"""torchmetrics' spellings."""


def _translated(texts: Mapping[str, str], translations: Mapping[str, str]) -> dict[str, str]:
    for name in texts:
        if name in _OPTIONS_OF_OTHERS:
            raise ParameterError(_OPTIONS_OF_OTHERS[name])
    names = {**_CUTOFF_OF_OTHERS, **translations}
    return {names.get(name, name): translations.get(value, value) for name, value in texts.items()}


def _split_parameters(text: str, parameters: str | None) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in (parameters or "").split(",") if pair.strip()]
    if any(not equals for _, equals, _ in pairs):
        msg = f"the parameters in `{text}` have to be given as `name=value`, separated by commas"
        raise ParameterError(msg)
    texts = {name.strip(): value.strip().strip("'\"") for name, _, value in pairs}
    if len(texts) < len(pairs):
        raise ParameterError(_given_twice(text))
    return texts


def _given_twice(text: str) -> str:
    return f"a parameter in `{text}` is given twice; each may be given once"


def _value(text: str) -> Any:
    """Read a parameter's value: True, False, None, a number, or a word."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) else text


_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_COUNTS = ("num_ret", "num_rel", "num_rel_ret")
_LEVELS = tuple(f"iprec_at_recall_{tenth / 10:.2f}" for tenth in range(11))
_OFFICIAL = (*_COUNTS, "map", "Rprec", "bpref", "recip_rank", *_LEVELS, *(f"P_{k}" for k in _CUTOFFS))

SETS: dict[str, tuple[str, ...]] = {
    "official": _OFFICIAL,
    "all_trec": (
        *_OFFICIAL,
        *(f"recall_{k}" for k in _CUTOFFS),
        *(f"relative_P_{k}" for k in _CUTOFFS),
        "11pt_avg",
        "ndcg",
        *(f"ndcg_cut_{k}" for k in _CUTOFFS),
        *(f"map_cut_{k}" for k in _CUTOFFS),
        *(f"success_{k}" for k in (1, 5, 10)),
        "set_P",
        "set_recall",
        "set_F",
    ),
}
"""trec_eval's names for several measures, less those that are not here."""


def parse_all(metrics: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Return the measures that a caller asks for: one or several, as names or as objects; or a set of trec_eval's."""
    several = [metrics] if isinstance(metrics, (str, Measure)) else metrics
    if not hasattr(several, "__iter__"):
        msg = f"`metrics` has to be a name, a measure, or a list of these, got {metrics!r}"
        raise MetricError(msg)
    measures = [_one(name) for metric in several for name in _members(metric)]
    if not measures:
        msg = f"`metrics` is empty; measures are {quoted(REGISTRY)}"
        raise MetricError(msg)
    return list(dict.fromkeys(measures))


def _members(metric: object) -> Iterable[object]:
    return SETS.get(metric, (metric,)) if isinstance(metric, str) else (metric,)


def all_reads(measures: Iterable[Measure]) -> frozenset[str]:
    """Return what several measures want to know of documents beside whether they are relevant."""
    return frozenset(what for measure in measures for what in measure.reads)


def _one(metric: object) -> Measure:
    if isinstance(metric, Measure):
        return metric
    if isinstance(metric, str):
        return parse(metric)
    msg = f"`metrics` has to hold names or measures, got {metric!r}"
    raise MetricError(msg)


def metrics() -> pl.DataFrame:
    """List all measures.

    Returns
    -------
    DataFrame
        One row a measure: `name`, `summary`, `parameters`, `aliases`, the bounds `lower` and `upper`,
        `higher_is_better`, `undefined_without` (the count that leaves it undefined when 0) and `source`.

    Examples
    --------
    >>> import polars_retrieval as pr
    >>> pr.metrics().filter(name="recall").select("name", "parameters", "upper")
    shape: (1, 3)
    ┌────────┬────────────────────────────┬───────┐
    │ name   ┆ parameters                 ┆ upper │
    │ ---    ┆ ---                        ┆ ---   │
    │ str    ┆ list[str]                  ┆ f64   │
    ╞════════╪════════════════════════════╪═══════╡
    │ recall ┆ ["k=None", "capped=False"] ┆ 1.0   │
    └────────┴────────────────────────────┴───────┘
    """
    declared = [measure.declaration for measure in REGISTRY.values()]
    return pl.DataFrame(
        {
            "name": [d.name for d in declared],
            "summary": [d.summary for d in declared],
            "parameters": [[f"{name}={p.default}" for name, p in d.parameters.items()] for d in declared],
            "aliases": [[a.pattern for a in d.aliases] for d in declared],
            "lower": [float(d.bounds[0]) for d in declared],
            "upper": [float(d.bounds[1]) for d in declared],
            "higher_is_better": [d.higher_is_better for d in declared],
            "undefined_without": [d.undefined_without for d in declared],
            "source": [d.source for d in declared],
        },
        schema_overrides={"parameters": pl.List(pl.String), "aliases": pl.List(pl.String)},
    )
