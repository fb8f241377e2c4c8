"""The workbench: `foldwise ui FOLDER` shows tables, runs and results of one folder in a browser.

The server holds no state of its own. Tables, choices, queued runs and run folders are files in FOLDER, and every run is
a process of its own, so that closing the tab or killing the server loses nothing.

How a page is added:

1. Write `pages/NAME.py`. It has handlers, `async def show(request) -> Response`, and a list
   `ROUTES = [Route("/NAME", show)]`. A page of one run or one table gets it from the address by
   `bench_of(request).run(request)` or `.table(request)`, which answer 404 for anything that is not directly in FOLDER.
2. Write `templates/NAME.html`, which begins with `{% extends "layout.html" %}`. Return it by
   `render(request, "NAME.html", value=…)`. Text is escaped. Markup that Python made is an `Html` of `report.markup`.
   Neither inline scripts nor style attributes work, because the content-security policy forbids them.
3. Add the module to `PAGES` in `pages/__init__.py`, and a link to `MENU` there, or to `RUN_MENU` for a page of a run.
4. Anything that opens a model, a table or a run is a function with plain arguments and a plain result (what JSON
   holds). Call it by `await bench_of(request).work("foldwise.app.workbench.NAME:function", key=value)`. It runs in a
   process that is killed when it takes too long. An `InputError` becomes a page with its sentence.
5. Long work is a process that writes a folder, like a run: see `queue.py`.
"""
