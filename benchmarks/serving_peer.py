"""The peer of `benchmarks/serving.py`: a model behind FastAPI, as tutorials show it."""

import os
from typing import Any

import joblib
import pandas as pd
from fastapi import FastAPI

model = joblib.load(os.environ["PEER_MODEL"])
sync_app, async_app = FastAPI(), FastAPI()


def answer(row: dict[str, Any]) -> dict[str, Any]:
    proba = model.predict_proba(pd.DataFrame([row]))[0]
    labels = [str(label) for label in model.classes_]
    return {"class": labels[int(proba.argmax())], "proba": dict(zip(labels, proba.tolist(), strict=True))}


@sync_app.post("/predict")
def predict(row: dict[str, Any]) -> dict[str, Any]:
    return answer(row)


@async_app.post("/predict")
async def predict_in_the_loop(row: dict[str, Any]) -> dict[str, Any]:
    return answer(row)
