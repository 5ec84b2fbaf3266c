// The page around the engine: what is asked, what came of it, and the address that says so.

"use strict";
const base = new URL("./", location.href).href;
const $ = (id) => document.getElementById(id);
const examples = JSON.parse($("examples").textContent);
let worker = null;
let ready = false;
let number = 0;
let waiting = null;

function state(text, kind = "") {
  $("state").textContent = text;
  $("state").className = kind;
}

// A worker made from text has the page's own policy: it, too, may ask this site only.
async function engine() {
  ready = false;
  const script = await (await fetch(new URL("worker.js", base))).blob();
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  worker = new Worker(address, { type: "module" });
  worker.addEventListener("message", ({ data }) => heard(data));
  worker.addEventListener("error", (event) => state(`the engine could not be started: ${event.message ?? ""}`, "bad"));
  worker.postMessage({ base });
}

// The report as it is, but with the pictures on top. This page's policy holds for it in the place of its own.
const FIRST = "<style>.scenario { display: flex; flex-direction: column; } .scenario > h1 { order: -2; } .scenario > h2:has(+ .charted), .scenario > .charted { order: -1; }</style>";
const shown = (page) => page.replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, "").replace("</head>", `${FIRST}</head>`);

function heard(data) {
  if (data.what === "state") state(data.text);
  else if (data.what === "ready") {
    ready = true;
    state("ready");
    if (waiting) ask(...waiting);
  } else if (data.number !== undefined && data.number !== number) return;
  else if (data.what === "failed") {
    state(data.text, "bad");
    busy(false);
  } else if (data.what === "done") busy(false);
  else if (data.error) state(data.error, "bad");
  else {
    $("report").srcdoc = shown(data.page);
    $("report").hidden = false;
    state(data.told);
    document.body.dataset.pictures = Number(document.body.dataset.pictures ?? 0) + 1;
    document.body.dataset.first ??= Math.round(performance.now());
  }
}

function busy(on) {
  document.body.toggleAttribute("data-busy", on);
  $("run").disabled = on;
  $("judge").disabled = on;
  $("stop").hidden = !on;
}

function ask(what, ...given) {
  if (!ready) {
    waiting = [what, ...given];
    state("the engine starts; this runs next");
    return;
  }
  waiting = null;
  number += 1;
  busy(true);
  state(what === "audit" ? "reading" : "running");
  worker.postMessage({ number, ask: what, given });
}

const run = () => ask("compare", $("scenario").value, $("systems").value);

// The address.

const coded = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const decoded = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

async function address() {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode($("scenario").value));
  const fragment = new URLSearchParams({ on: $("systems").value, scenario: coded(packed) });
  return `${location.href.split("#")[0]}#${fragment}`;
}

async function share() {
  const made = await address();
  history.replaceState(null, "", made);
  try {
    await navigator.clipboard.writeText(made);
    state("the address with this scenario is copied, and stands above");
  } catch {
    state("the address above has this scenario in it");
  }
}

async function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const example = given.get("example") ?? "eager-and-cooperative";
  $("systems").value = given.get("on") ?? "kafka:range, rocketmq:AVG";
  $("example").value = examples[example] ? example : "";
  $("scenario").value = examples[example] ?? "";
  if (given.has("scenario")) {
    $("example").value = "";
    try {
      $("scenario").value = new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), decoded(given.get("scenario"))));
    } catch {
      state("the scenario in the address is damaged: it was cut, or changed on its way", "bad");
      return;
    }
  }
  run();
}

function choose() {
  const name = $("example").value;
  if (!name) return;
  history.replaceState(null, "", `#example=${name}`);
  $("scenario").value = examples[name];
  run();
}

function panel(name) {
  for (const each of ["compare", "audit"]) {
    $(`${each}-panel`).hidden = each !== name;
    $(`${each}-tab`).setAttribute("aria-selected", String(each === name));
  }
}

async function dropped(event) {
  event.preventDefault();
  const files = await Promise.all(Array.from(event.dataTransfer.files, (file) => file.text()));
  if (files.length) $("pasted").value = files.join("\n");
}

if (location.protocol === "file:") {
  state("A browser starts the engine only from a server: run python -m http.server -d build/site and open it there.", "bad");
} else {
  $("example").append(...["", ...Object.keys(examples)].map((name) => new Option(name || "your own", name)));
  $("run").addEventListener("click", run);
  $("share").addEventListener("click", share);
  $("example").addEventListener("change", choose);
  $("judge").addEventListener("click", () => ask("audit", $("pasted").value));
  $("compare-tab").addEventListener("click", () => panel("compare"));
  $("audit-tab").addEventListener("click", () => panel("audit"));
  $("pasted").addEventListener("dragover", (event) => event.preventDefault());
  $("pasted").addEventListener("drop", dropped);
  $("scenario").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  });
  $("stop").addEventListener("click", () => {
    worker.terminate();
    number += 1;
    busy(false);
    state("stopped; the engine starts again");
    engine();
  });
  window.addEventListener("hashchange", fromAddress);
  engine();
  fromAddress();
}
