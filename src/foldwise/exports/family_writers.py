"""The functions of one language that write numeric columns of naive Bayes, one per distribution family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from foldwise.bayes.families.bernoulli_multinomial import BernoulliLikelihood, MultinomialLikelihood
from foldwise.bayes.families.binned import BinnedLikelihood
from foldwise.bayes.families.gamma import GammaLikelihood
from foldwise.bayes.families.gaussian import GaussianLikelihood
from foldwise.bayes.families.poisson_binomial import BinomialLikelihood, PoissonLikelihood
from foldwise.errors import InputError

Writer = TypeVar("Writer")

FIELDS: dict[type, str] = {
    GaussianLikelihood: "gaussian",
    GammaLikelihood: "gamma",
    PoissonLikelihood: "poisson",
    BinomialLikelihood: "binomial",
    BernoulliLikelihood: "bernoulli",
    MultinomialLikelihood: "multinomial",
    BinnedLikelihood: "binned",
}


@dataclass(frozen=True)
class FamilyWriters(Generic[Writer]):
    """A language, and its function for each family that can be written."""

    language: str
    gaussian: Writer
    gamma: Writer
    poisson: Writer
    binomial: Writer
    bernoulli: Writer
    multinomial: Writer
    binned: Writer

    def of(self, likelihood: Any) -> Writer:
        """The function for a likelihood, by its exact type; raises an error for other families."""
        if type(likelihood) not in FIELDS:
            name = getattr(likelihood, "family", type(likelihood).__name__.removesuffix("Likelihood").lower())
            raise InputError(
                f"naive Bayes with the distribution family {name!r} cannot be exported to {self.language}.",
                "fit it with other families, for example families='auto'.",
            )
        found: Writer = getattr(self, FIELDS[type(likelihood)])
        return found
