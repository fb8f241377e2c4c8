// The forms of the page: send the text of the form, and show the answer as text.
"use strict";
for (const form of document.querySelectorAll("form.try")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const status = form.querySelector(".status");
    const answer = form.querySelector(".answer");
    status.textContent = "waiting";
    try {
      const started = performance.now();
      const response = await fetch(form.dataset.path, {
        method: "POST",
        headers: {"content-type": "application/json"},
        body: form.querySelector("textarea").value,
      });
      const text = await response.text();
      status.textContent = `${response.status} in ${Math.round(performance.now() - started)} ms`;
      answer.textContent = JSON.stringify(JSON.parse(text), null, 2);
    } catch (error) {
      status.textContent = "no answer";
      answer.textContent = String(error);
    }
    answer.hidden = false;
  });
}
