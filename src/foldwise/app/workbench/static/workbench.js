// Uploads by drop or choice, with progress. Everything else is HTML that the server sends.
"use strict";

function upload(file, where) {
  const bar = document.getElementById("sent"), said = document.getElementById("upload-error");
  const request = new XMLHttpRequest();
  request.open("POST", `${where}?name=${encodeURIComponent(file.name)}`);
  request.upload.onprogress = (event) => { bar.hidden = false; bar.value = event.total ? event.loaded / event.total : 0; };
  request.onload = () => {
    if (request.status === 201) { location.assign(request.responseText); return; }
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    fail(page.querySelector("[role=alert]")?.textContent || `The upload failed (status ${request.status}).`);
  };
  request.onerror = () => fail("The upload was cut off. The file may be too large.");
  function fail(sentence) { bar.hidden = true; said.hidden = false; said.textContent = sentence; }
  said.hidden = true;
  request.send(file);
}

document.addEventListener("change", (event) => {
  const input = event.target.closest("input[data-upload]");
  if (input && input.files.length) upload(input.files[0], input.dataset.upload);
});
const area = document.getElementById("drop");
if (area) {
  const input = area.querySelector("input");
  for (const name of ["dragover", "dragenter"]) area.addEventListener(name, (event) => { event.preventDefault(); area.classList.add("over"); });
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    if (event.dataTransfer.files.length) upload(event.dataTransfer.files[0], input.dataset.upload);
  });
}
document.addEventListener("htmx:sseClose", (event) => {  // the run has ended: show what came of it
  if (event.detail.type === "message") location.reload();
});
document.addEventListener("htmx:afterSettle", () => document.dispatchEvent(new Event("tables-replaced")));
