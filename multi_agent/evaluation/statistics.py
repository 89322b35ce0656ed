"""How sure the figures are: intervals, paired comparison, and how many questions it takes.

- Interval of a mean: Wilson's score interval for shares (values of 0 and 1, without clusters or weights; Wilson 1927),
  which is honest also where all are right. Otherwise the bias-corrected and accelerated bootstrap (BCa; Efron 1987)
  over clusters: questions that share one are drawn together, and without clusters each is one of its own. Where the
  values of a share do not differ, the bootstrap has nothing to draw from; then it is told what Wilson's bound leaves
  open: of what was not seen in n questions, up to z² / (n + z²) may be so.
- Paired comparison: the difference per question, its interval, and a sign-flip permutation test over clusters (Fisher
  1935): exact up to 2**14 sign patterns, drawn at random beyond. The interval is that of a mean; of shares without
  clusters or weights Bonett's and Price's (2012), as few questions that changed are too few for a bootstrap.
- Number of questions: the normal approximation for a paired difference, and no fewer than the test can tell by.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import product
from typing import TYPE_CHECKING

from pydantic import Field

from multi_agent.evaluation.errors import EvaluationError
from vectorstore.models import FrozenModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RESAMPLES = 9_999
_SEED = 20_250_101  # fixed, so that the same rows always give the same interval
_EXACT = 14  # clusters up to which all sign patterns are tried
_ROUNDING = 1e-9


class Interval(FrozenModel):
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float
    n: int = Field(description="questions")
    clusters: int = Field(description="independent groups of them")
    level: float = 0.95


class Paired(FrozenModel):
    """Two configurations on the same questions."""

    difference: Interval = Field(description="second minus first")
    p_value: float = Field(description="two-sided, of the sign-flip permutation test")
    deviation: float | None = Field(
        default=None, description="of the difference from question to question; None where there is one cluster only"
    )
    better: tuple[str, ...] = Field(description="ids of questions with a higher value in the second")
    worse: tuple[str, ...] = Field(description="with a lower one")
    equal: int


class Sample:
    """Values with their weights and clusters. Raises EvaluationError if there are none, or one is not finite."""

    def __init__(
        self,
        values: Sequence[float],
        weights: Sequence[float] | None = None,
        clusters: Sequence[Hashable] | None = None,
    ) -> None:
        import numpy as np

        self.values: Floats = np.asarray(values, dtype=float)
        if not len(self.values):
            raise EvaluationError("There is no value to take a mean of.")
        if not np.isfinite(self.values).all():
            raise EvaluationError("A value is not a finite number.")
        self.weights: Floats = np.ones(len(self.values)) if weights is None else np.asarray(weights, dtype=float)
        labels = range(len(self.values)) if clusters is None else clusters
        order = {label: index for index, label in enumerate(dict.fromkeys(labels))}
        index = np.array([order[label] for label in labels])
        self.totals = np.bincount(index, self.weights * self.values, len(order)).astype(float)
        self.masses = np.bincount(index, self.weights, len(order)).astype(float)

    @property
    def mean(self) -> float:
        """Weighted."""
        return float(self.totals.sum() / self.masses.sum())

    @property
    def deviation(self) -> float | None:
        """By how much the mean varies, times the root of the number of questions; None if one cluster cannot tell.

        Without clusters and weights it is the standard deviation of the values.
        """
        import numpy as np

        n = len(self.totals)
        if n < 2:
            return None
        rest = self.totals - self.mean * self.masses
        return float(np.sqrt(len(self.values) * n / (n - 1) * (rest**2).sum()) / self.masses.sum())

    @property
    def effective(self) -> float:
        """As many clusters of equal weight as tell no less (Kish 1965)."""
        return float(self.masses.sum() ** 2 / (self.masses**2).sum())

    def is_count_of(self, *values: float) -> bool:
        """Whether there are no values but these, of equal weight, each its own cluster."""
        import numpy as np

        plain = len(self.totals) == len(self.values) and len(set(self.weights)) == 1
        return plain and bool(np.isin(self.values, values).all())


def interval(
    values: Sequence[float],
    weights: Sequence[float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    *,
    shares: bool = True,
) -> Interval:
    """The mean with its interval; see the module. ``shares``: whether the values are shares between 0 and 1.

    Raises EvaluationError for no values.
    """
    sample = Sample(values, weights, clusters)
    if shares and sample.is_count_of(0.0, 1.0):
        low, high = _wilson(sample, level)
    else:
        low, high = _bca(sample, level, (0.0, 1.0) if shares else None)
    return Interval(
        mean=sample.mean, low=low, high=high, n=len(sample.values), clusters=len(sample.totals), level=level
    )


def compare(
    ids: Sequence[str],
    first: Sequence[float],
    second: Sequence[float],
    weights: Sequence[float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    *,
    shares: bool = True,
) -> Paired:
    """The second against the first, on the same questions in the same order. Raises EvaluationError."""
    import numpy as np

    if not len(ids) == len(first) == len(second):
        raise EvaluationError("Two configurations are compared on the same questions only.")
    differences = np.subtract(second, first)
    sample = Sample(differences.tolist(), weights, clusters)
    if shares and sample.is_count_of(-1.0, 0.0, 1.0):
        low, high = _bonett_price(sample, level)
    else:
        low, high = _bca(sample, level, (-1.0, 1.0) if shares else None)
    count = len(sample.totals)
    return Paired(
        difference=Interval(mean=sample.mean, low=low, high=high, n=len(ids), clusters=count, level=level),
        p_value=_sign_flips(sample),
        deviation=sample.deviation,
        better=tuple(each for each, by in zip(ids, differences, strict=True) if by > 0),
        worse=tuple(each for each, by in zip(ids, differences, strict=True) if by < 0),
        equal=int((differences == 0).sum()),
    )


def questions_needed(
    deviation: float, difference: float, changed: float = 1.0, power: float = 0.8, level: float = 0.95
) -> int:
    """How many questions show a true ``difference``, if the differences per question vary by ``deviation``.

    Two-sided, by the normal approximation; but at least as many as the sign-flip test can tell by, if the share
    ``changed`` of them differ at all. Raises EvaluationError for a difference of 0.
    """
    from math import ceil, log2
    from statistics import NormalDist

    if not difference:
        raise EvaluationError("No number of questions shows a difference of 0.")
    quantile = NormalDist().inv_cdf
    enough = ((quantile(0.5 + level / 2) + quantile(power)) * deviation / difference) ** 2
    fewest = ceil(log2(2 / (1 - level)))  # so many that all change in one way have p below 1 - level, and no fewer
    return ceil(max(enough, fewest / changed))


def _wilson(sample: Sample, level: float) -> tuple[float, float]:
    from scipy.stats import binomtest

    right, n = int(sample.values.sum()), len(sample.values)
    bounds = binomtest(right, n).proportion_ci(level, method="wilson")
    return float(bounds.low), float(bounds.high)


def _bonett_price(sample: Sample, level: float) -> tuple[float, float]:
    """Bounds of the difference of two shares on the same questions: as if two more had changed, one each way."""
    from math import sqrt
    from statistics import NormalDist

    n = len(sample.values) + 2
    up, down = ((int((sample.values == sign).sum()) + 1) / n for sign in (1.0, -1.0))
    reach = NormalDist().inv_cdf(0.5 + level / 2) * sqrt((up + down - (up - down) ** 2) / n)
    return max(up - down - reach, -1.0), min(up - down + reach, 1.0)


def _bca(sample: Sample, level: float, possible: tuple[float, float] | None) -> tuple[float, float]:
    """Bounds of the mean of values between two that are ``possible``, or of any values."""
    import numpy as np
    from scipy.special import ndtr, ndtri

    n = len(sample.totals)
    if n < 2 or np.ptp(sample.totals / sample.masses) < _ROUNDING:
        return _alike(sample, level, possible) if possible else (sample.mean, sample.mean)
    means = _resampled(sample)
    below = np.mean(means < sample.mean) + np.mean(means == sample.mean) / 2  # ties count half
    bias = ndtri(np.clip(below, 1 / len(means), 1 - 1 / len(means)))
    left_out = (sample.totals.sum() - sample.totals) / (sample.masses.sum() - sample.masses)
    spread = left_out.mean() - left_out
    acceleration = (spread**3).sum() / (6 * (spread**2).sum() ** 1.5)
    tails = ndtri(np.array([0.5 - level / 2, 0.5 + level / 2]))
    shares = ndtr(bias + (bias + tails) / (1 - acceleration * (bias + tails)))
    low, high = np.quantile(means, shares)
    return float(low), float(high)


def _alike(sample: Sample, level: float, possible: tuple[float, float]) -> tuple[float, float]:
    """Bounds of the mean of values that do not differ: some that were not seen may lie at either end."""
    from statistics import NormalDist

    squared = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    unseen = squared / (sample.effective + squared)
    lowest, highest = possible
    return sample.mean - unseen * (sample.mean - lowest), sample.mean + unseen * (highest - sample.mean)


def _resampled(sample: Sample) -> Floats:
    """Means of draws of whole clusters, with replacement."""
    import numpy as np

    n = len(sample.totals)
    draws = np.random.default_rng(_SEED).multinomial(n, np.full(n, 1 / n), RESAMPLES)
    return np.asarray((draws @ sample.totals) / (draws @ sample.masses))


def _sign_flips(sample: Sample) -> float:
    """How often a difference as large comes about when the signs of the clusters are left to chance."""
    import numpy as np

    totals = sample.totals[np.abs(sample.totals) > _ROUNDING]
    observed = abs(totals.sum()) - _ROUNDING
    if not len(totals):
        return 1.0
    if len(totals) <= _EXACT:
        signs = np.array(list(product((-1.0, 1.0), repeat=len(totals))))
        return float(np.mean(np.abs(signs @ totals) >= observed))
    signs = np.random.default_rng(_SEED).choice((-1.0, 1.0), (RESAMPLES, len(totals)))
    as_large = int((np.abs(signs @ totals) >= observed).sum())
    return (as_large + 1) / (RESAMPLES + 1)  # the observed pattern is one of them
