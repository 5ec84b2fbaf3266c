// A notebook's cells, live: they can be changed, and run by the engine in the browser. A cell runs after all before it.

"use strict";
(() => {
  const place = document.querySelector("p.live");
  const cells = [...document.querySelectorAll("div.cell")].map((box) => ({ box, code: box.querySelector("code"), ran: false }));
  let worker = null;
  let running = null;
  const queue = [];

  const button = (text, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "md-button";
    made.textContent = text;
    made.addEventListener("click", act);
    return made;
  };
  const said = document.createElement("output");

  // The outputs that stand below a cell, up to the next cell or text.
  function outputs(cell) {
    const found = [];
    for (let next = cell.box.nextElementSibling; next?.classList.contains("output"); next = next.nextElementSibling) found.push(next);
    return found;
  }

  function heard({ data }) {
    if (data.what === "state") said.textContent = data.text;
    else if (data.what === "ready" || data.what === "done") {
      if (running) running.ran = true;
      running = null;
      next();
    } else if (data.what === "failed") said.textContent = data.text;
    else if (data.what === "answer") {
      outputs(running).forEach((each) => each.remove());
      const output = document.createElement("div");
      output.className = "output";
      // It is what the reader's own cell put out.
      output.innerHTML = data.page;
      if (data.page) running.box.after(output);
    }
  }

  function next() {
    running = queue.shift() ?? null;
    document.body.toggleAttribute("data-live-busy", Boolean(running));
    said.textContent = running ? "running" : "ready";
    if (!running) return;
    worker.postMessage({ number: 0, ask: "cell", given: [running.code.textContent] });
  }

  function run(wanted) {
    const place_ = cells.indexOf(wanted);
    for (const cell of cells.slice(0, place_ + 1)) {
      if (queue.includes(cell) || cell === running) continue;
      if (cell === wanted || !cell.ran) queue.push(cell);
    }
    if (worker && !running && document.body.hasAttribute("data-live")) next();
  }

  async function begin() {
    const base = new URL(place.dataset.base, location.href).href;
    place.replaceChildren(button("Run all", () => run(cells.at(-1))), said);
    said.textContent = "Python is loaded";
    for (const cell of cells) {
      cell.code.contentEditable = "plaintext-only";
      cell.code.spellcheck = false;
      const go = button("Run", () => run(cell));
      go.classList.add("cellrun");
      cell.box.append(go);
    }
    worker = new Worker(new URL("worker.js", base), { type: "module" });
    worker.addEventListener("message", (event) => {
      if (event.data.what === "ready") document.body.toggleAttribute("data-live", true);
      heard(event);
    });
    worker.postMessage({ base });
  }

  place.hidden = false;
  if (location.protocol === "file:") place.textContent = "From a server (make playground) the cells below can be run and changed here.";
  else place.append(button("Run and change the cells here, in the browser", begin));
})();
