"""The distribution families by name."""

from __future__ import annotations

from foldwise.bayes.families.base import DistributionFamily
from foldwise.bayes.families.bernoulli_multinomial import Bernoulli, Multinomial
from foldwise.bayes.families.binned import Binned
from foldwise.bayes.families.categorical import Categorical
from foldwise.bayes.families.gamma import Gamma
from foldwise.bayes.families.gaussian import Gaussian
from foldwise.bayes.families.kde import Kde
from foldwise.bayes.families.poisson_binomial import Binomial, Poisson
from foldwise.bayes.families.protocol import Likelihood, Setting
from foldwise.bayes.families.text import Text

DEFAULTS = (Categorical, Gaussian, Bernoulli, Multinomial, Poisson, Binomial, Gamma, Binned, Kde, Text)
FAMILIES: dict[str, DistributionFamily] = {family.name: family() for family in DEFAULTS}

__all__ = ["FAMILIES", "DistributionFamily", "Likelihood", "Setting"]
