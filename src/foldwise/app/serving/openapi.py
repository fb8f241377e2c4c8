"""The OpenAPI document of a prediction server: what each model takes and returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import foldwise
from foldwise.app.serving.served_model import ServedModel

CELLS: dict[str, list[str]] = {
    "number": ["number", "null"],
    "truth": ["boolean", "null"],
    "text": ["string", "null"],
    "date": ["string", "null"],
}
EXAMPLES: dict[str, Any] = {"number": 1.5, "truth": True, "text": "text", "date": "2026-01-31"}
PROBLEMS = {
    "400": "The body is not JSON.",
    "408": "The request took too long.",
    "413": "The body is too large.",
    "415": "The body is neither JSON nor CSV.",
    "422": "The rows do not fit the model.",
    "503": "The server is busy, or the model took too long.",
}


def document(models: Mapping[str, ServedModel], *, token: bool = False) -> dict[str, Any]:
    """Return the OpenAPI document of some models."""
    paths: dict[str, Any] = {
        "/health": {"get": operation("health", "Whether the server answers.", plain("#/components/schemas/Health"))},
        "/metrics": {"get": operation("metrics", "Metrics in the format of Prometheus.", text("text/plain"))},
        "/models": {"get": operation("models", "The models of this server.", plain("#/components/schemas/Models"))},
    }
    schemas: dict[str, Any] = {
        "Health": {
            "type": "object",
            "required": ["status", "models"],
            "properties": {"status": {"const": "ok"}, "models": {"type": "array", "items": {"type": "string"}}},
        },
        "Models": {"type": "object", "additionalProperties": {"type": "object"}},
        "Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}},
    }
    for name, model in models.items():
        paths[f"/models/{name}/predict"] = {"post": prediction(name, name)}
        schemas |= model_schemas(model)
    if len(models) == 1:
        name = next(iter(models))
        paths["/predict"] = {"post": prediction(name, "only")}
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Foldwise predictions", "version": foldwise.__version__},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if token:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found


def prediction(name: str, key: str) -> dict[str, Any]:
    """Describe one route for predictions."""
    found = operation(
        f"predict-{key}", f"Predict rows with the model {name}.", plain(f"#/components/schemas/{name}-answer")
    )
    found["responses"]["200"]["content"]["text/csv"] = {"schema": {"type": "string"}}
    found["responses"] |= {
        status: {"description": words, **plain("#/components/schemas/Error")} for status, words in PROBLEMS.items()
    }
    found["parameters"] = [
        {
            "name": "keep",
            "in": "query",
            "description": "Column of the request to copy to the output. May be repeated.",
            "schema": {"type": "array", "items": {"type": "string"}},
        }
    ]
    found["requestBody"] = {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": f"#/components/schemas/{name}-request"}},
            "text/csv": {"schema": {"type": "string"}},
        },
    }
    return found


def model_schemas(model: ServedModel) -> dict[str, Any]:
    """Describe the rows that a model takes, and what it returns."""
    kinds = model.stored.kinds
    row = {
        "type": "object",
        "required": list(kinds),
        "properties": {name: {"type": CELLS[kind]} for name, kind in kinds.items()},
        "example": example_row(model),
    }
    rows = {"type": "array", "minItems": 1, "items": {"$ref": f"#/components/schemas/{model.name}-row"}}
    answer = {
        "type": "object",
        "required": ["predictions", "notes"],
        "properties": {
            "predictions": {
                "type": "array",
                "items": {"type": "object", "required": list(model.columns)},
            },
            "notes": {"type": "array", "items": {"type": "string"}},
        },
    }
    batch = {"type": "object", "required": ["rows"], "properties": {"rows": rows}}
    either = [{"$ref": f"#/components/schemas/{model.name}-row"}, rows, batch]
    return {f"{model.name}-row": row, f"{model.name}-request": {"anyOf": either}, f"{model.name}-answer": answer}


def example_row(model: ServedModel) -> dict[str, Any]:
    """A row with a value of the right type in each column."""
    return {
        name: min(model.levels.get(name, ()), default=EXAMPLES[kind]) if kind == "text" else EXAMPLES[kind]
        for name, kind in model.stored.kinds.items()
    }


def operation(key: str, summary: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"operationId": key, "summary": summary, "responses": {"200": {"description": "OK", **content}}}


def plain(reference: str) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": {"$ref": reference}}}}


def text(kind: str) -> dict[str, Any]:
    return {"content": {kind: {"schema": {"type": "string"}}}}
