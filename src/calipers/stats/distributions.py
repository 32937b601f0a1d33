"""Normal, Student t and beta probabilities and quantiles, from the standard library's `math` alone.

The intervals of this package need three quantile functions. They are written here because the base install
carries no numerical library; tests hold them to 1e-9 relative error against one.

Method. The regularised incomplete beta function I_x(a, b) is its logistic density over a continued fraction
(DiDonato & Morris, "Algorithm 708", 1992), with the density taken from Loader's saddle-point form ("Fast and
Accurate Computation of Binomial Probabilities", 2000): subtracting three large log-gammas would lose nine
digits at a = 1e6. Everything is a function of the logit of x, so neither x nor 1 - x is ever rounded away. In
that coordinate the beta density is log-concave, hence so is I, hence Newton's iteration on log I converges
from any start without a bracket. Student's t is the beta with b = 1/2.
"""

from functools import lru_cache
from math import erf, erfc, exp, inf, isfinite, isnan, lgamma, log, log1p, pi, sqrt

_HALF_LOG_TWO_PI = 0.5 * log(2 * pi)
_EPSILON = 2.0**-52
# A guard against an endless loop; about ten steps suffice at the extremes of the tested range.
_MAX_NEWTON_STEPS = 200


def normal_cdf(z: float) -> float:
    """P(Z <= z) for a standard normal Z."""
    return 0.5 * erfc(-z / sqrt(2))


@lru_cache(maxsize=256)
def normal_quantile(p: float) -> float:
    """The z with P(Z <= z) = p for a standard normal Z, 1e-300 <= p < 1."""
    _check_probability(p)
    if p > 0.5:
        return -normal_quantile(1 - p)
    if p < 1e-300:
        raise ValueError(f"p must be at least 1e-300 for its quantile to be computed, got {p!r}")
    # P(Z <= z) < exp(-z²/2), so the tail's start lies below the root, and from there Newton cannot overshoot.
    z = 0.0 if p > 0.25 else -sqrt(-2 * log(p))
    for _ in range(_MAX_NEWTON_STEPS):
        density = exp(-0.5 * z * z - _HALF_LOG_TWO_PI)
        if p > 0.25:  # near the centre the distance from one half is what must stay accurate
            step = (0.5 * erf(z / sqrt(2)) - (p - 0.5)) / density
        else:
            below = normal_cdf(z)
            step = (log(below) - log(p)) * below / density
        z -= step
        if abs(step) <= 2 * _EPSILON * abs(z):
            break
    return z


def binomial(k: int, n: int, p: float) -> float:
    """The chance of exactly k of n."""
    if p <= 0 or p >= 1:
        return float(k == (n if p >= 1 else 0))
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(ways + k * log(p) + (n - k) * log1p(-p))


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b): P(X <= x) for X ~ Beta(a, b)."""
    _check_positive(a, "a")
    _check_positive(b, "b")
    if not 0 <= x <= 1:
        raise ValueError(f"x must lie between 0 and 1, got {x!r}")
    if x in {0, 1}:
        return float(x)
    return exp(_log_beta_cdf(log(x) - log1p(-x), a, b))


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p, 0 < p < 1."""
    _check_positive(a, "a")
    _check_positive(b, "b")
    _check_probability(p)
    return _logistic(_beta_quantile_logit(p, a, b))


def student_t_cdf(t: float, df: float) -> float:
    """P(T <= t) for Student's T with `df` degrees of freedom; `df` may be fractional."""
    _check_positive(df, "df")
    if isnan(t):
        raise ValueError(f"t must be a number, got {t!r}")
    if t == 0:
        return 0.5
    if abs(t) == inf:
        return float(t > 0)
    logit = log(df) - 2 * log(abs(t))
    outside = _log_beta_cdf(logit, df / 2, 0.5)  # log P(|T| >= |t|)
    if t < 0:
        return 0.5 * exp(outside)
    return 1 - 0.5 * exp(outside)


@lru_cache(maxsize=1024)
def student_t_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p for Student's T with `df` degrees of freedom, 0 < p < 1."""
    _check_positive(df, "df")
    _check_probability(p)
    if p > 0.5:
        return -student_t_quantile(1 - p, df)
    if p == 0.5:
        return 0.0
    if p < 0.25:
        logit = _beta_quantile_logit(2 * p, df / 2, 0.5)
    else:  # 1 - 2p is exact here, and small: solve for the mass inside instead of outside
        logit = -_beta_quantile_logit(1 - 2 * p, 0.5, df / 2)
    return -exp(0.5 * (log(df) - logit))


def _check_probability(p: float) -> None:
    if not 0 < p < 1:
        raise ValueError(f"p must lie strictly between 0 and 1, got {p!r}")


def _check_positive(value: float, name: str) -> None:
    if not (value > 0 and isfinite(value)):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")


def _logistic(logit: float) -> float:
    return 1 / (1 + exp(-logit)) if logit > 0 else exp(logit) / (1 + exp(logit))


def _log_logistic(logit: float) -> float:
    return -log1p(exp(-logit)) if logit > 0 else logit - log1p(exp(logit))


def _log_beta_cdf(logit: float, a: float, b: float) -> float:
    """Log of I_x(a, b) at x = logistic(logit)."""
    x, y = _logistic(logit), _logistic(-logit)
    density = _log_logistic_density(logit, a, b)
    if x <= (a + 1) / (a + b + 2):
        return density + log(_continued_fraction(x, y, a, b))
    above = exp(density) * _continued_fraction(y, x, b, a)
    return log1p(-above)


def _beta_quantile_logit(p: float, a: float, b: float) -> float:
    if p > 0.5:
        return -_beta_quantile_logit(1 - p, b, a)
    logit = log(a / b)
    target = log(p)
    for _ in range(_MAX_NEWTON_STEPS):
        value = _log_beta_cdf(logit, a, b)
        step = (target - value) * exp(value - _log_logistic_density(logit, a, b))
        logit += step
        if abs(step) <= 4 * _EPSILON * max(1.0, abs(logit)):
            break
    return logit


def _log_logistic_density(logit: float, a: float, b: float) -> float:
    """Log of x^a (1-x)^b / B(a, b), the density of logit(X) for X ~ Beta(a, b)."""
    n = a + b
    return (
        0.5 * (log(a) + log(b / n))
        - _HALF_LOG_TWO_PI
        + _stirling_error(n)
        - _stirling_error(a)
        - _stirling_error(b)
        - _deviance(a, n, logit)
        - _deviance(b, n, -logit)
    )


def _stirling_error(x: float) -> float:
    """How much log Γ(x + 1) exceeds Stirling's formula."""
    if x < 16:
        return lgamma(x + 1) - (x + 0.5) * log(x) + x - _HALF_LOG_TWO_PI
    s = 1 / (x * x)
    return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / x


def _deviance(observed: float, n: float, logit: float) -> float:
    """Loader's D: observed * log(observed / m) + m - observed, with m = n * logistic(logit)."""
    m = n * _logistic(logit)
    d = (m - observed) / observed
    if abs(d) > 0.1:
        return observed * (log(observed / n) - _log_logistic(logit)) + m - observed
    # d - log(1 + d) as a series: the two agree in their leading digits
    total, power, k = 0.0, d * d, 2
    while abs(power) / k > _EPSILON * total / 8:
        total += power / k
        power *= -d
        k += 1
    return observed * total


def _continued_fraction(x: float, y: float, a: float, b: float) -> float:
    """I_x(a, b) over its logistic density, y = 1 - x; converges fast for x <= (a+1)/(a+b+2).

    What is returned is 1 / (b_0 + a_1 / (b_1 + a_2 / (b_2 + ...))), evaluated by the modified Lentz method.
    """
    excess = a * y - b * x  # a - (a+b)x, without its cancellation
    beta = a * (excess + 1) / (a + 1)
    c, d = beta, 0.0
    value = beta
    # The number of terms grows like the square root of the larger parameter.
    for n in range(1, 1000 + 20 * int(sqrt(max(a, b)))):
        s = a + 2 * n - 1
        alpha = (a + n - 1) / s * ((a + b + n - 1) / s) * n * (b - n) * x * x
        beta = n + n * (b - n) * x / s + (a + n) * (excess + 1 + n * (1 + y)) / (s + 2)
        d = 1 / (beta + alpha * d)
        c = beta + alpha / c
        value *= c * d
        if abs(c * d - 1) < _EPSILON:
            break
    return 1 / value
