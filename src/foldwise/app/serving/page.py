"""The page of a prediction server: what each model takes and returns, and a form to try it.

It is made from the OpenAPI document. Its script and style come from the package, so it works offline.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from starlette.responses import Response

from foldwise.app.serving.openapi import PROBLEMS, example_row
from foldwise.app.serving.served_model import ServedModel
from foldwise.storage.table_check import WORDS

HERE = files("foldwise.app.serving")
STATIC = {"/static/page.js": "text/javascript", "/static/page.css": "text/css"}


def static_file(path: str) -> Response | None:
    """Return the script or the style of the page; None for any other path."""
    kind = STATIC.get(path)
    return None if kind is None else Response(HERE.joinpath(path.lstrip("/")).read_bytes(), media_type=kind)


def page(models: Mapping[str, ServedModel], document: Mapping[str, Any]) -> Response:
    """Render the page."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(HERE.joinpath("templates/page.html").read_text(encoding="utf-8"))
    shown = [
        {
            "name": name,
            "target": model.stored.target,
            "kinds": {column: WORDS[kind] for column, kind in model.stored.kinds.items()},
            "columns": model.columns,
            "path": f"/models/{name}/predict",
            "example": json.dumps({"rows": [example_row(model)]}, indent=2, ensure_ascii=False),
        }
        for name, model in models.items()
    ]
    plain = {path: entry["get"]["summary"] for path, entry in document["paths"].items() if "get" in entry}
    return Response(
        template.render(models=shown, plain=plain, problems=PROBLEMS, version=document["info"]["version"]),
        media_type="text/html; charset=utf-8",
    )
