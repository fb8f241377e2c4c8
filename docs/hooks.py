"""What the docs site adds to its pages: API reference, help of each command, benchmarks, gallery, project files."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import re
import runpy
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import foldwise
from foldwise.app.cli.commands import app

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))
EXERCISES = [
    path for path in sorted((ROOT / "docs" / "teaching").glob("*.md")) if f"({path.stem}.png)" in path.read_text()
]
PROJECT = {"contributing.md": "CONTRIBUTING.md", "security.md": "SECURITY.md", "changelog.md": "CHANGELOG.md"}
COMMANDS = "<!-- commands"
OUTPUT = "<!-- output"
NETWORK_SCRIPT = "https://unpkg.com/iframe-worker/shim"

# rooms whose `__all__` is documented, beside the names of the package itself
ROOMS = ("clusters", "decisions", "ensembles", "evaluation", "models", "neighbors", "rules", "storage", "tuning")
ROOMS += ("engines", "folds", "tuning.store", "unsupervised", "testing", "plots", "report")
# what people meet as results, although no `__all__` names it
RESULTS = {
    "Audit": "data.audit",
    "Contributions": "evaluation.contributions",
    "Explanation": "bayes.explanation",
    "Finding": "data.findings",
    "Findings": "data.findings",
    "EngineError": "errors",
    "FoldwiseError": "errors",
    "FoldwiseWarning": "errors",
    "ForgetError": "errors",
    "InputError": "errors",
    "CheckResult": "app.checking.result",
    "RefitResult": "app.refitting.result",
    "Metric": "evaluation.metrics",
    "PlotError": "errors",
    "find_metric": "evaluation.metrics",
    "pinball_metric": "evaluation.metrics",
    "task_of": "data.target",
    "value_metric": "evaluation.metrics",
}
# the topics of the index; a name that is missing here breaks the build
TOPICS = {
    "Runs": "fit Run predict_file explain Contributions render",
    "New data": "check CheckResult refit RefitResult score_slices SliceScores",
    "Explorations": "explore Exploration",
    "Tables": "read_table task_of Table Findings Finding Audit Schema Column",
    "Dates and times": "DateFeatures",
    "Searches": "GridSearchCV RandomizedSearchCV HalvingGridSearchCV HalvingRandomSearchCV SearchCV OutOfFoldAnswers",
    "Search spaces": "Float Int Choice",
    "Search strategies": "Grid Design Random Evolutionary Bayesian TPE CMAES Gradient Manual Racing Strategy Trial",
    "Other searches": "AskTell plot_search LivePlot",
    "Stored searches": "TrialStore open_search StoredSearch StoredTrial StoreError",
    "Pictures": "plot_roc plot_thresholds plot_tree",
    "Feature selection and penalties": "SelectFeatures PenaltyFactors",
    "Estimates": "estimate Estimate nested_cv NestedResult bias_corrected cross_predict cross_validate cross_val_score "
    "cross_val_predict",
    "Comparisons": "compare Comparison compare_tables TablesComparison corrected_t_test correlated_bayesian_t "
    "signed_rank_test bayesian_signed_rank friedman_test critical_difference holm",
    "Curves": "learning_curve LearningCurve validation_curve ValidationCurve",
    "Metrics, confusion and costs": "Metric find_metric value_metric pinball_metric Confusion CostMatrix Decision",
    "Leaks": "find_leaks Leaks Leak duplicate_groups",
    "Naive Bayes": "NaiveBayes Explanation",
    "Nearest neighbors": "KNNClassifier KNNRegressor choose_k KCurve",
    "Clusters": "KMeans choose_clusters ClusterStudy KMedoids DensityClusters choose_mixture MixtureStudy",
    "Rule lists": "RuleList",
    "Association rules": "association_rules AssociationRules AssociationRule frequent_itemsets FrequentItemsets",
    "Factors": "find_factors Factors",
    "Maps": "map_table TableMap",
    "Descriptions of clusters": "describe_clusters ClusterDescriptions ClusterProfile ColumnContrast",
    "Outliers": "find_outliers Outliers Outlier OutlierCell",
    "Similar and typical rows": "similar SimilarRows CellDifference rank_rows RowRanking",
    "Costs, calibration and balance": "CostSensitive Calibrated Balanced reliability Reliability realized_cost",
    "Intervals and sets": "Conformal",
    "Ensembles": "Ensemble EnsembleRegressor diagnose Diagnosis RegressorDiagnosis bias_variance "
    "BiasVariance bootstrap BootstrapResult select_greedily GreedyResult",
    "Ensembles: recipes": "bagging pasting random_subspaces random_forest adaboost boosted_trees majority_vote "
    "weighted_vote stacking greedy_selection ecoc decorate grading arbiter_tree",
    "Ensembles: diversity": "Diversity Bootstrap PoissonBootstrap Pasting RowParts Subspaces ColumnParts "
    "VariedParameters OutputCodes ChainedDiversity",
    "Ensembles: dependency": "Dependency Independent AdaBoost Residuals Decorate",
    "Ensembles: size": "EnsembleSize FixedSize EarlyStopping GreedySelection Pruning",
    "Ensembles: combiners": "Combiner Vote Weighted Mean Median Sum LogMean Best Stacking Grading ArbiterTree Decode",
    "Ensembles: data passed between blocks": "TrainingData MemberSpec FittedMembers MemberPredictions",
    "The catalog": "catalogue models_for ModelSpec Cost Outline outline spec_of models.register unregister scaled "
    "for_trees native as_frame TableEncoder CodedLabels TargetScale TransformedTarget",
    "Databases and Spark": "facts_of table_of TableFacts KeyFolds fit_facts nested_in_engine EngineNestedResult "
    "predict_spark",
    "Model files": "save_model open_model StoredModel",
    "Exports": "to_sql SqlExport to_onnx OnnxExport",
    "Fold sessions": "open_session open_subsets folds.register FoldSession RefitSession Answer Block Failure Need "
    "Split freeze_splits evaluate",
    "Checks for extensions": "check_foldable check_family check_merging check_strategy",
    "Errors": "FoldwiseError InputError ForgetError EngineError PlotError FoldwiseWarning",
}
GUIDES = {
    "Runs": "tutorials/first-run",
    "Explorations": "how-to/explore",
    "Tables": "how-to/read-files",
    "Dates and times": "how-to/dates-and-times",
    "Searches": "how-to/search-settings",
    "Stored searches": "how-to/resume-and-share-searches",
    "Feature selection and penalties": "how-to/select-features",
    "Estimates": "tutorials/honest-evaluation",
    "Comparisons": "how-to/compare-models",
    "Curves": "how-to/draw-curves",
    "Metrics, confusion and costs": "tutorials/costs",
    "Leaks": "how-to/find-leaks",
    "Naive Bayes": "how-to/naive-bayes",
    "Nearest neighbors": "how-to/nearest-neighbors",
    "Association rules": "how-to/association-rules",
    "Factors": "how-to/factors",
    "Maps": "how-to/maps",
    "Descriptions of clusters": "how-to/describe-clusters",
    "Outliers": "how-to/find-outliers",
    "Similar and typical rows": "how-to/similar-and-typical-rows",
    "Clusters": "how-to/find-clusters",
    "Costs, calibration and balance": "how-to/calibrate-and-balance",
    "Ensembles": "how-to/build-ensembles",
    "The catalog": "how-to-add",
    "Databases and Spark": "scale",
    "Model files": "how-to/save-and-open",
    "Fold sessions": "explanation/fold-sessions",
    "Checks for extensions": "how-to-add",
}


def public_names() -> dict[str, str]:
    """Where each name of the API reference is imported from; a name that two rooms use is preceded by its room."""
    homes = {name: "foldwise" for name in foldwise.__all__ if not name.startswith("__")}
    for room in ROOMS:
        module = import_module(f"foldwise.{room}")
        for name in module.__all__:
            if homes.get(name) == "foldwise" or same_object(homes.get(name), name, module):
                continue
            if name in homes or name == "register":
                homes[f"{room}.{name}"] = module.__name__
            else:
                homes[name] = module.__name__
    return homes | {name: f"foldwise.{home}" for name, home in RESULTS.items()}


def same_object(home: str | None, name: str, module: Any) -> bool:
    """Whether a name that was found elsewhere is the same thing here."""
    return home is not None and getattr(import_module(home), name) is getattr(module, name)


def page_of(name: str) -> str:
    """The page of a name; a class whose name is a function's, but for the case, has one that differs in more."""
    others = {other for other in NAMES if other != name and other.lower() == name.lower()}
    return f"{name}_class.md" if others and name[0].isupper() else f"{name}.md"


def found(name: str) -> Any:
    """The class or function of a name."""
    return getattr(import_module(NAMES[name]), name.split(".")[-1])


NAMES = public_names()


def summary_of(name: str) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(found(name)) or "").split("\n")[0].replace("|", "\\|")


def api_page(name: str) -> str:
    """The page of a name, which mkdocstrings fills in."""
    short = name.split(".")[-1]
    return f"---\ntitle: {short}\n---\n\n::: {NAMES[name]}.{short}\n"


def api_index() -> str:
    """The names of the API reference by topic, with their summaries."""
    listed = [name for names in TOPICS.values() for name in names.split()]
    if set(listed) != set(NAMES):
        raise ValueError(
            f"docs/hooks.py, TOPICS: missing {set(NAMES) - set(listed)}, unknown {set(listed) - set(NAMES)}"
        )
    parts = ["# API reference\n\nEvery public name by topic. The page of a name says where it is imported from.\n"]
    for topic, names in TOPICS.items():
        rows = "\n".join(
            f"| [`{name.split('.')[-1]}`]({page_of(name)}) | {summary_of(name)} |" for name in names.split()
        )
        parts.append(f"## {topic}\n\n{guide_of(topic)}| name | summary |\n|---|---|\n{rows}\n")
    return "\n".join(parts)


def guide_of(topic: str) -> str:
    """A link to the page that shows how to use the names of a topic."""
    if topic not in GUIDES:
        return ""
    title = (ROOT / "docs" / f"{GUIDES[topic]}.md").read_text(encoding="utf-8").split("\n# ", 1)[-1].splitlines()[0]
    return f"Guide: [{title.removeprefix('# ')}](../../{GUIDES[topic]}.md)\n\n"


def on_config(config: Any) -> Any:
    """Add the generated pages to the navigation."""
    reference = next(part["Reference"] for part in config.nav if "Reference" in part)
    topics = [
        {topic: [{name.split(".")[-1]: f"reference/api/{page_of(name)}"} for name in names.split()]}
        for topic, names in TOPICS.items()
    ]
    reference.append({"API": ["reference/api/index.md", *topics]})
    pages = ["gallery/index.md", *({title_of(path): f"gallery/{path.stem}.md"} for path in GALLERY)]
    config.nav.insert(3, {"Gallery": pages})
    measured = next(part["Measurements"] for part in config.nav if "Measurements" in part)
    measured.append({"Benchmarks": [f"benchmarks/{path.name}" for path in sorted(BENCHMARKS.glob("*.md"))]})
    config.nav.append({"Project": [f"project/{page}" for page in PROJECT]})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    pages: dict[str, str | bytes] = {f"reference/api/{page_of(name)}": api_page(name) for name in NAMES}
    pages["reference/api/index.md"] = api_index()
    pages["gallery/index.md"] = gallery_index()
    for path in sorted(BENCHMARKS.glob("*.md")):
        pages[f"benchmarks/{path.name}"] = path.read_text(encoding="utf-8")
    for path in GALLERY:
        pages[f"gallery/{path.stem}.png"] = picture(path)
        pages[f"gallery/{path.stem}.md"] = gallery_page(path)
    for path in EXERCISES:
        pages[f"teaching/{path.stem}.png"] = picture(path)
    for page, name in PROJECT.items():
        pages[f"project/{page}"] = (
            (ROOT / name)
            .read_text(encoding="utf-8")
            .replace("](docs/", "](../")
            .replace("](benchmarks/", "](../benchmarks/")
        )
    for path_in_site, content in pages.items():
        files.append(File.generated(config, path_in_site, content=content))
    return files


def title_of(example: Path) -> str:
    """The first line of an example's docstring."""
    return (ast.get_docstring(ast.parse(example.read_text())) or example.stem).splitlines()[0].rstrip(".")


def text_of(example: Path) -> str:
    """The docstring of an example after its first line."""
    docstring = ast.get_docstring(ast.parse(example.read_text())) or ""
    return "\n".join(docstring.splitlines()[1:]).strip()


def picture(example: Path) -> bytes:
    """Run an example, or the code of a page, and return what it draws, as PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(ROOT):
        if example.suffix == ".md":
            [code] = re.findall(r"```python\n(.*?)```", example.read_text(), re.DOTALL)
            exec(compile(code, example.name, "exec"), {})
        else:
            runpy.run_path(str(example))
    drawn = io.BytesIO()
    plt.gcf().savefig(drawn, dpi=110)
    return drawn.getvalue()


def gallery_page(example: Path) -> str:
    """An example with its picture: title, text, picture, code."""
    code = example.read_text().split('"""', 2)[2].strip()
    title = title_of(example)
    return f"# {title}\n\n{text_of(example)}\n\n![{title}]({example.stem}.png)\n\n```python\n{code}\n```\n"


def gallery_index() -> str:
    """All examples with small pictures."""
    cards = [
        f"-   [![{title_of(path)}]({path.stem}.png)]({path.stem}.md)\n\n    **[{title_of(path)}]({path.stem}.md)**\n\n"
        f"    {' '.join(text_of(path).split())}\n"
        for path in GALLERY
    ]
    words = "Short examples with their pictures. The code of each runs as it is."
    return f'# Gallery\n\n{words}\n\n<div class="grid cards" markdown>\n\n{chr(10).join(cards)}\n</div>\n'


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Put the help of each command into the command-line page, and the output of a run into the first tutorial."""
    if OUTPUT in markdown:
        output = (ROOT / "README.md").read_text(encoding="utf-8").split("```")[3]
        return re.sub(f"{OUTPUT}.*", lambda _: f"```text{output}```", markdown)
    if COMMANDS not in markdown:
        return markdown
    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name="foldwise")
    parts = [markdown[: markdown.index(COMMANDS)]]
    for name, command in group.commands.items():
        inner = typer.Context(command, info_name=name, parent=context)
        parts.append(f"## foldwise {name}\n\n```text\n{command.get_help(inner)}\n```\n")
    return "\n".join(parts)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Say on each page of the API where the name is imported from, and show types as they are written."""
    path = page.file.src_uri
    if not path.startswith("reference/api/") or path.endswith("index.md"):
        return html
    name = path.removeprefix("reference/api/").removesuffix(".md").removesuffix("_class")
    line = f"<p><code>from {NAMES[name]} import {name.split('.')[-1]}</code></p>"
    html = re.sub(r"</h1>", f"</h1>\n{line}", html, count=1)
    # types are words, which the parser takes for code: array - like, (str, list or mapping)
    html = re.sub(r'<span title="[^"]*">([^<]*)</span>', r"\1", html).replace("array - like", "array-like")
    return re.sub(r"(\(\s*<code>)\(([^()]*)\)</code>", r"\1\2</code>", html)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Load the script that lets the search work from files from the site itself, not from the network."""
    up = "../" * page.url.count("/")
    return output.replace(NETWORK_SCRIPT, f"{up}offline-worker.js")


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """Do the same in pages without a source, such as 404.html."""
    return output_content.replace(NETWORK_SCRIPT, "offline-worker.js")
