"""The error of a model whose library is not installed, or cannot be imported."""

from __future__ import annotations

from importlib.util import find_spec

from foldwise.errors import InputError

EXTRAS = {
    **dict.fromkeys(("catboost", "lightgbm", "pandas", "xgboost"), "boosters"),
    "imblearn": "balance",
    "kmedoids": "clusters",
}


def missing_library(error: ImportError | OSError, library: str = "") -> InputError:
    """Say which library a model needs, and how to install it.

    >>> print(missing_library(ModuleNotFoundError(name="nowhere")))
    this model needs the library 'nowhere', which is not installed. Hint: install nowhere.
    """
    module = getattr(error, "name", None) or library
    name = module.partition(".")[0]
    hint = f"run pip install 'foldwise[{EXTRAS[name]}]'." if name in EXTRAS else f"install {name or 'it again'}."
    if not isinstance(error, ModuleNotFoundError):
        what = f"the library {name!r}" if name else "a library"
        return InputError(f"this model needs {what}, which cannot be imported: {error}.", hint)
    if name and name not in EXTRAS and find_spec(name) is not None:
        return InputError(
            f"this model needs {module!r}, which the installed version of {name} does not contain.",
            "install the versions with which the model was saved, or fit it again.",
        )
    return InputError(f"this model needs the library {name!r}, which is not installed.", hint)
