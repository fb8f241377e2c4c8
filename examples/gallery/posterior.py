"""How sure is a difference?

The Bayesian correlated t-test gives the probability that one model is better, that both are practically equal, and
that the other is better.
"""

from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from foldwise import NaiveBayes, compare

X, y = load_wine(return_X_y=True)
models = {"naive Bayes": NaiveBayes(), "decision tree": DecisionTreeClassifier(random_state=0)}
compare(models, X, y, random_state=0).posterior("naive Bayes", "decision tree").plot(
    names=("naive Bayes", "decision tree")
)
