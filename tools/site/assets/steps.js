// A lesson as steps: a few arrows around the one that is told of, its phase as a box, and a link to each step (#join=7).

const BEFORE = 4;
const SHOWN = 9;
const TALL = 30;
const HEAD = 30;

function lesson(place) {
  const { nodes, steps } = JSON.parse(place.querySelector("script").textContent);
  const name = place.dataset.lesson;
  let current = 0;
  const button = (text, label, act) => {
    const made = el("button", { type: "button", "aria-label": label, title: label }, text);
    made.addEventListener("click", act);
    return made;
  };
  const count = el("a", { class: "stepcount", title: "a link to this step" });
  const slider = el("input", { type: "range", min: 0, max: steps.length - 1, value: 0, "aria-label": "step" });
  const stage = el("div", { class: "stepstage", tabindex: 0, role: "group", "aria-label": "the steps: left and right go back and forward" });
  const told = el("p", { class: "steptold", "aria-live": "polite" });

  const go = (number, link = true) => {
    current = Math.max(0, Math.min(number, steps.length - 1));
    slider.value = current;
    count.textContent = `${current + 1} of ${steps.length}`;
    count.href = `#${name}=${current + 1}`;
    const { says, phase } = steps[current];
    told.replaceChildren(phase ? el("strong", {}, `${phase}: `) : "", says);
    stage.replaceChildren(picture(nodes, steps, current, Math.max(260, stage.clientWidth), go));
    if (link) history.replaceState(null, "", count.href);
  };
  slider.addEventListener("input", () => go(Number(slider.value)));
  stage.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: steps.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  });
  place.append(
    el("div", { class: "stepbar" }, button("◂", "one step back", () => go(current - 1)), button("▸", "one step forward", () => go(current + 1)), slider, count),
    told,
    stage,
  );
  const linked = () => {
    const [of, number] = location.hash.slice(1).split("=");
    if (of !== name || !number) return;
    go(Number(number) - 1, false);
    place.scrollIntoView({ block: "center" });
  };
  new ResizeObserver(() => go(current, false)).observe(place);
  addEventListener("hashchange", linked);
  go(0, false);
  linked();
}

function picture(nodes, steps, current, width, go) {
  const first = Math.max(0, Math.min(current - BEFORE, steps.length - SHOWN));
  const shown = steps.slice(first, first + SHOWN);
  const room = width / nodes.length;
  const x = (node) => room * (node + 0.5);
  const boxes = phases(shown);
  // A phase has a line for its name above its first arrow.
  const top = (at) => HEAD + at * TALL + boxes.filter(([, from]) => from <= at).length * NAME;
  const height = top(shown.length) + 4;
  const made = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "the steps around this one" });
  boxes.forEach(([phase, from, to]) => {
    const y = top(from) - NAME;
    made.append(svg("rect", { class: "stepphase", x: 1, y, width: width - 2, height: (to - from) * TALL + NAME - 3, rx: 5 }), svg("text", { class: "stepphasename", x: 6, y: y + 12 }, phase));
  });
  nodes.forEach((node, at) => made.append(
    svg("path", { class: "steplane", d: `M${x(at)} ${HEAD - 6}V${height}` }),
    svg("text", { class: "stepnode", x: x(at), y: 16, "text-anchor": "middle" }, node),
  ));
  shown.forEach((step, at) => made.append(row(step, first + at, current, top(at), width, x, go)));
  return made;
}

// Neighbouring steps of one phase: its name, the first, the one behind the last.
function phases(shown) {
  const found = [];
  shown.forEach(({ phase }, at) => {
    const last = found[found.length - 1];
    if (last && last[0] === phase) last[2] = at + 1;
    else found.push([phase, at, at + 1]);
  });
  return found.filter(([phase]) => phase);
}

const [LETTER, NAME] = [6.2, 11];

function row(step, number, current, top, width, x, go) {
  const group = svg("g", { class: number === current ? "stepnow" : number > current ? "steplater" : "stepdone" }, svg("rect", { class: "steprow", x: 1, y: top, width: width - 2, height: TALL - 3, rx: 5 }));
  const y = top + 21;
  const words = (at) => {
    const most = Math.floor((2 * Math.min(at, width - at)) / LETTER);
    const text = step.text.length > most ? `${step.text.slice(0, most - 1)}…` : step.text;
    return svg("text", { x: at, y: y - 5, "text-anchor": "middle" }, text);
  };
  if (step.from === step.to) {
    group.append(words(step.from === null ? width / 2 : Math.max(width * 0.3, Math.min(x(step.from), width * 0.7))));
  } else {
    const [a, b] = [x(step.from), x(step.to)];
    const way = b > a ? 1 : -1;
    group.append(svg("path", { class: step.lost ? "steparrow lost" : "steparrow", d: `M${a} ${y}H${b - way * 6}` }), svg("path", { class: "steptip", d: `M${b} ${y}l${-way * 8} -4v8z` }), words((a + b) / 2));
  }
  group.addEventListener("click", () => go(number));
  return group;
}

document.querySelectorAll(".steps").forEach(lesson);
