"""Confidence intervals, paired comparison, and the number of questions that a comparison needs.

- Interval of a mean: Wilson's score interval (Wilson 1927) for values of 0 and 1 without clusters or weights. It stays
  valid if all values are equal. Otherwise the bias-corrected and accelerated bootstrap (BCa; Efron 1987), which
  resamples whole clusters; without clusters, each question is its own. If all values of a share are equal, the
  bootstrap has no variance. The interval then comes from Wilson's bound: a value not seen in n questions can have a
  share of up to z² / (n + z²).
- Paired comparison: the difference per question, its interval, and a sign-flip permutation test over clusters (Fisher
  1935). The test is exact up to 2**14 sign patterns and uses random patterns beyond. For values of 0 and 1 without
  clusters or weights, the interval is that of Bonett and Price (2012): with few changed questions a bootstrap is
  unreliable. Otherwise it is the interval of a mean.
- Number of questions: the normal approximation for a paired difference, at least the minimum of the sign-flip test.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from base.models import FrozenModel
from multi_agent.evaluation.errors import EvaluationError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


_LEVEL, _POWER = 0.95, 0.8  # of all intervals and comparisons
RESAMPLES = 9_999
_SEED = 20_250_101  # fixed: the same rows always give the same interval
_PATTERNS = 2**14  # of signs: all of them for up to 14 clusters, random ones beyond
_BATCH = 256  # resamples in memory at a time
_DECIMALS = 9


class Interval(FrozenModel):
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float
    n: int = Field(description="number of questions")
    clusters: int = Field(description="number of independent groups of questions")
    level: float = _LEVEL


class Paired(FrozenModel):
    """Two configurations on the same questions."""

    difference: Interval = Field(description="second minus first")
    p_value: float = Field(description="two-sided p-value of the sign-flip permutation test")
    deviation: float | None = Field(
        default=None, description="standard deviation of the difference per question; None with a single cluster"
    )
    better: tuple[str, ...] = Field(description="ids of questions with a higher value in the second")
    worse: tuple[str, ...] = Field(description="ids of questions with a lower value in the second")
    equal: int = Field(description="number of questions with equal values")


class Sample:
    """Values with weights and clusters.

    Raises EvaluationError if there are no values, or a value is not finite.
    """

    def __init__(
        self,
        values: Sequence[float],
        weights: Sequence[float] | None = None,
        clusters: Sequence[Hashable] | None = None,
    ) -> None:
        import numpy as np

        self.values: Floats = np.asarray(values, dtype=float)
        if not len(self.values):
            raise EvaluationError("There are no values, so there is no mean.")
        if not np.isfinite(self.values).all():
            raise EvaluationError("A value is not finite.")
        self.weights: Floats = np.ones(len(self.values)) if weights is None else np.asarray(weights, dtype=float)
        labels = range(len(self.values)) if clusters is None else clusters
        order = {label: index for index, label in enumerate(dict.fromkeys(labels))}
        index = np.array([order[label] for label in labels])
        self.totals = np.bincount(index, self.weights * self.values, len(order)).astype(float)
        self.masses = np.bincount(index, self.weights, len(order)).astype(float)

    @property
    def mean(self) -> float:
        """The weighted mean."""
        return float(self.totals.sum() / self.masses.sum())

    @property
    def deviation(self) -> float | None:
        """The standard error of the mean times the square root of the number of questions; None with one cluster.

        Without clusters and weights this is the standard deviation of the values.
        """
        import numpy as np

        n = len(self.totals)
        if n < 2:
            return None
        rest = self.totals - self.mean * self.masses
        return float(np.sqrt(len(self.values) * n / (n - 1) * (rest**2).sum()) / self.masses.sum())

    @property
    def effective_size(self) -> float:
        """The effective sample size: the equivalent number of clusters of equal weight (Kish 1965)."""
        return float(self.masses.sum() ** 2 / (self.masses**2).sum())

    def has_only(self, *values: float) -> bool:
        """Return whether all values are among these, without clusters and with equal weights."""
        import numpy as np

        plain = len(self.totals) == len(self.values) and len(set(self.weights)) == 1
        return plain and bool(np.isin(self.values, values).all())


def interval(
    values: Sequence[float],
    weights: Sequence[float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    *,
    shares: bool = True,
) -> Interval:
    """Return the mean and its interval. ``shares``: whether the values lie between 0 and 1.

    Raises EvaluationError if there are no values.
    """
    sample = Sample(values, weights, clusters)
    if shares and sample.has_only(0.0, 1.0):
        low, high = _wilson(sample)
    else:
        low, high = _bca(sample, (0.0, 1.0) if shares else None)
    return Interval(mean=sample.mean, low=low, high=high, n=len(sample.values), clusters=len(sample.totals))


def compare(
    ids: Sequence[str],
    first: Sequence[float],
    second: Sequence[float],
    weights: Sequence[float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    *,
    shares: bool = True,
) -> Paired:
    """Compare values of the same questions in the same order, second minus first. Raises EvaluationError."""
    import numpy as np

    if not len(ids) == len(first) == len(second):
        raise EvaluationError("Compared configurations must have the same questions.")
    differences = np.subtract(second, first)
    sample = Sample(differences.tolist(), weights, clusters)
    if shares and sample.has_only(-1.0, 0.0, 1.0):
        low, high = _bonett_price(sample)
    else:
        low, high = _bca(sample, (-1.0, 1.0) if shares else None)
    count = len(sample.totals)
    return Paired(
        difference=Interval(mean=sample.mean, low=low, high=high, n=len(ids), clusters=count),
        p_value=_sign_flips(sample),
        deviation=sample.deviation,
        better=tuple(each for each, by in zip(ids, differences, strict=True) if by > 0),
        worse=tuple(each for each, by in zip(ids, differences, strict=True) if by < 0),
        equal=int((differences == 0).sum()),
    )


def questions_needed(deviation: float, difference: float, changed: float = 1.0) -> int:
    """Return how many questions detect a true ``difference`` if differences per question vary by ``deviation``.

    Uses the two-sided normal approximation, but at least the minimum of the sign-flip test if the share ``changed`` of
    the questions differs at all. Raises EvaluationError for a difference of 0.
    """
    from math import ceil, log2
    from statistics import NormalDist

    if not difference:
        raise EvaluationError("A difference of 0 cannot be detected with any number of questions.")
    quantile = NormalDist().inv_cdf
    enough = ((quantile(0.5 + _LEVEL / 2) + quantile(_POWER)) * deviation / difference) ** 2
    fewest = ceil(log2(2 / (1 - _LEVEL)))  # the minimum for p < 1 - _LEVEL if all change in one direction
    return ceil(max(enough, fewest / changed))


def _wilson(sample: Sample) -> tuple[float, float]:
    from scipy.stats import binomtest

    right, n = int(sample.values.sum()), len(sample.values)
    bounds = binomtest(right, n).proportion_ci(_LEVEL, method="wilson")
    return float(bounds.low), float(bounds.high)


def _bonett_price(sample: Sample) -> tuple[float, float]:
    """Return the interval of a paired difference of shares, after adding one change in each direction."""
    from math import sqrt
    from statistics import NormalDist

    n = len(sample.values) + 2
    up, down = ((int((sample.values == sign).sum()) + 1) / n for sign in (1.0, -1.0))
    half_width = NormalDist().inv_cdf(0.5 + _LEVEL / 2) * sqrt((up + down - (up - down) ** 2) / n)
    return max(up - down - half_width, -1.0), min(up - down + half_width, 1.0)


def _bca(sample: Sample, possible: tuple[float, float] | None) -> tuple[float, float]:
    """Return the BCa interval of the mean; ``possible`` is the range of the values, None if they are unbounded."""
    import numpy as np
    from scipy.stats import bootstrap

    if len(sample.totals) < 2 or np.ptp(sample.totals / sample.masses) < 10**-_DECIMALS:
        return _constant(sample, possible) if possible else (sample.mean, sample.mean)
    bounds = bootstrap(
        (sample.totals, sample.masses),
        lambda totals, masses, axis: totals.sum(axis) / masses.sum(axis),
        paired=True,
        confidence_level=_LEVEL,
        n_resamples=RESAMPLES,
        batch=_BATCH,
        rng=_SEED,
    ).confidence_interval
    return float(bounds.low), float(bounds.high)


def _constant(sample: Sample, possible: tuple[float, float]) -> tuple[float, float]:
    """Return the interval of equal values: unseen values may lie at either end of the range."""
    from statistics import NormalDist

    squared = NormalDist().inv_cdf(0.5 + _LEVEL / 2) ** 2
    unseen = squared / (sample.effective_size + squared)
    lowest, highest = possible
    return sample.mean - unseen * (sample.mean - lowest), sample.mean + unseen * (highest - sample.mean)


def _sign_flips(sample: Sample) -> float:
    """Return how often random signs of the clusters give a difference at least as large."""
    import numpy as np
    from scipy.stats import permutation_test

    totals = sample.totals[np.abs(sample.totals) > 10**-_DECIMALS]
    if len(totals) < 2:
        return 1.0  # either sign of one cluster is as large
    found = permutation_test(
        (totals,),
        lambda signed, axis: np.round(signed.sum(axis), _DECIMALS),  # sums that differ only by rounding are equal
        permutation_type="samples",
        n_resamples=_PATTERNS,
        batch=_BATCH,
        rng=_SEED,
    )
    return float(found.pvalue)
