"""How many columns are enough?

For naive Bayes, each step of forward selection is one pass over stored terms. Nothing is refitted.
"""

from sklearn.datasets import load_breast_cancer

from foldwise import NaiveBayes, SelectFeatures

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
select = SelectFeatures(NaiveBayes(), n_features=12, cv=10).fit(X, y)
select.plot()
