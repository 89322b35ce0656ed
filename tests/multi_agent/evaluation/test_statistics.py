"""Intervals and tests, compared with scipy and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from multi_agent.evaluation import statistics
from multi_agent.evaluation.errors import EvaluationError
from multi_agent.evaluation.statistics import compare, interval, questions_needed

RNG = np.random.default_rng(3)


def test_a_mean_has_the_bca_interval_of_scipy() -> None:
    values = RNG.beta(2, 5, 80)
    ours = interval(values.tolist())
    theirs = scipy.stats.bootstrap((values,), np.mean, method="BCa", n_resamples=9_999, random_state=RNG)
    assert ours.mean == pytest.approx(values.mean())
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.004)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.004)


def test_a_share_has_wilsons_interval() -> None:
    ours = interval([1.0] * 12)
    assert (ours.low, ours.high) == pytest.approx((0.757, 1.0), abs=0.001)  # twelve of twelve is not certainty


@pytest.mark.parametrize("clustered", [False, True])
def test_intervals_of_means_have_95_percent_coverage(clustered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """400 samples of 60 skewed values. In the clustered case, clusters of 4 share most of their value."""
    monkeypatch.setattr(statistics, "RESAMPLES", 999)
    rng, held = np.random.default_rng(11), 0
    for _ in range(400):
        labels = [index // 4 for index in range(60)] if clustered else None
        common = np.repeat(rng.exponential(1, 15), 4) if clustered else 0.0
        values = common + rng.exponential(0.3 if clustered else 1.0, 60)
        found = interval(values.tolist(), clusters=labels)
        held += found.low <= (1.3 if clustered else 1.0) <= found.high
    assert 0.90 <= held / 400 <= 0.98


def test_clusters_widen_an_interval() -> None:
    values = np.repeat(RNG.random(10), 6).tolist()
    labels = [index // 6 for index in range(60)]
    independent, together = interval(values), interval(values, clusters=labels)
    assert together.high - together.low > 2 * (independent.high - independent.low)
    assert together.clusters == 10


def test_a_mean_is_weighted() -> None:
    assert interval([1.0, 0.0], weights=[3.0, 1.0]).mean == 0.75


def test_p_values_equal_the_permutation_test_of_scipy() -> None:
    first, second = RNG.random(11), RNG.random(11) + 0.15
    ids = [str(index) for index in range(11)]
    theirs = scipy.stats.permutation_test(
        (second, first), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert compare(ids, first.tolist(), second.tolist()).p_value == pytest.approx(theirs.pvalue)


def test_many_questions_use_random_signs() -> None:
    first = RNG.random(200)
    second = first + RNG.normal(0.03, 0.2, 200)
    theirs = scipy.stats.permutation_test(
        (second, first), lambda a, b: np.mean(a - b), permutation_type="samples", random_state=RNG
    )
    ours = compare([str(index) for index in range(200)], first.tolist(), second.tolist())
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=0.02)


def test_a_comparison_lists_the_changed_questions() -> None:
    compared = compare(["a", "b", "c"], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0])
    assert (compared.better, compared.worse, compared.equal) == (("a",), ("c",), 1)
    assert compared.difference.mean == 0
    assert compared.p_value == 1


def test_the_false_positive_rate_is_at_most_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "RESAMPLES", 99)  # only for the interval; the test is exact here
    rng, found = np.random.default_rng(5), 0
    for _ in range(300):
        first, second = rng.random(9), rng.random(9)
        found += compare([str(i) for i in range(9)], first.tolist(), second.tolist()).p_value <= 0.05
    assert found / 300 <= 0.08


def test_a_difference_of_shares_has_bonett_and_prices_interval() -> None:
    """Of 60 questions, 9 got better and 2 worse: (9 + 1) / 62 and (2 + 1) / 62."""
    found = compare([str(i) for i in range(60)], [0.0] * 9 + [1.0] * 51, [1.0] * 9 + [0.0] * 2 + [1.0] * 49).difference
    up, down = 10 / 62, 3 / 62
    reach = 1.96 * ((up + down - (up - down) ** 2) / 62) ** 0.5
    assert (found.low, found.high) == pytest.approx((up - down - reach, up - down + reach), abs=1e-4)
    same = compare(list("abcde"), [1.0] * 5, [1.0] * 5).difference
    assert same.low == -same.high < -0.3, "five unchanged questions leave a wide interval"


@pytest.mark.parametrize("n", [8, 20, 60])
def test_intervals_of_differences_have_95_percent_coverage(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """10 % of the questions get better, 5 % get worse."""
    monkeypatch.setattr(statistics, "_PATTERNS", 9)  # only for the p-value
    rng, held = np.random.default_rng(13), 0
    for _ in range(400):
        drawn = rng.random(n)
        second = np.where(drawn < 0.1, 1.0, np.where(drawn < 0.15, -1.0, 0.0))
        found = compare([str(i) for i in range(n)], [0.0] * n, second.tolist()).difference
        held += found.low <= 0.05 <= found.high
    assert held / 400 >= 0.93


def test_the_number_of_questions_equals_the_textbook_formula() -> None:
    # (1.96 + 0.8416)² · 0.5² / 0.1² = 196.2
    assert questions_needed(deviation=0.5, difference=0.1) == 197
    with pytest.raises(EvaluationError, match="0"):
        questions_needed(0.5, 0)


def test_the_sign_flip_test_needs_six_questions() -> None:
    """Five questions that change in one direction have p = 0.0625; six have half of that."""
    assert compare(list("abcde"), [0.0] * 5, [1.0] * 5).p_value == 0.0625
    assert compare(list("abcdef"), [0.0] * 6, [1.0] * 6).p_value < 0.05
    assert questions_needed(deviation=0.0, difference=1.0) == 6
    assert questions_needed(deviation=0.4, difference=0.8, changed=0.8) == 8


def test_the_deviation_needs_two_clusters() -> None:
    first, second = RNG.random(9), RNG.random(9)
    ids = list("abcdefghi")
    paired = compare(ids, first.tolist(), second.tolist())
    assert paired.deviation == pytest.approx(np.std(second - first, ddof=1))
    alike = np.repeat(first[:4], 2).tolist()
    together = compare(ids[:8], [0.0] * 8, alike, clusters=[0, 0, 1, 1, 2, 2, 3, 3])
    assert together.deviation == pytest.approx(np.std(first[:4], ddof=1) * 2**0.5), "half as many independent values"
    alone = compare(ids[:8], [0.0] * 8, RNG.random(8).tolist(), clusters=["one"] * 8)
    assert alone.deviation is None


@pytest.mark.parametrize(
    ("weights", "clusters", "effective_size"),
    [([1.0, 2.0, 1.0, 2.0], None, 3.6), (None, ["a", "a", "b", "b"], 2), (None, ["a"] * 4, 1)],
)
def test_equal_values_with_weights_or_clusters_are_uncertain(
    weights: list[float] | None, clusters: list[str] | None, effective_size: float
) -> None:
    """The interval is Wilson's for the effective sample size."""
    found = interval([1.0] * 4, weights, clusters)
    assert (found.low, found.high) == pytest.approx((effective_size / (effective_size + 1.96**2), 1.0), abs=1e-4)


def test_equal_values_still_have_an_interval() -> None:
    half = interval([0.5] * 10)
    assert (half.low, half.high) == pytest.approx((0.361, 0.639), abs=1e-3)
    same = compare(list("abcde"), [0.3] * 5, [0.6] * 5)
    assert (same.difference.low, same.difference.high) == pytest.approx((-0.265, 0.604), abs=1e-3)
    calls = interval([3.0] * 5, shares=False)
    assert (calls.low, calls.high) == (3, 3)


def test_a_mean_needs_finite_values() -> None:
    with pytest.raises(EvaluationError, match="no values"):
        interval([])
    with pytest.raises(EvaluationError, match="finite"):
        interval([float("nan")])
