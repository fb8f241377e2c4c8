"""Ask `foldwise serve loans-run` for predictions. Only the standard library is needed."""

import json
import urllib.request

row = {"age": 41, "income": 3200, "amount": 4000, "months": 24, "late_payments": 0, "housing": "own"}
rows = [{**row, "purpose": "furniture"}, {**row, "purpose": None}]
headers = {"Content-Type": "application/json"}  # with a token also: "Authorization": "Bearer TOKEN"
request = urllib.request.Request("http://127.0.0.1:8000/predict", json.dumps(rows).encode(), headers)
with urllib.request.urlopen(request, timeout=30) as response:
    for row in json.load(response)["predictions"]:
        print(row)
