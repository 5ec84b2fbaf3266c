// A group's picture with its buttons, and the lines behind the bar that was chosen.

const swatchOf = (cause) => svg("svg", { class: "swatch", width: 14, height: 12, "aria-hidden": true }, svg("rect", { class: colour(cause), width: 14, height: 12, rx: 2 }), pattern(cause) ? svg("rect", { class: "over", fill: pattern(cause), width: 14, height: 12, rx: 2 }) : null);

function legend(night) {
  const mark = (name, words) => el("li", {}, svg("svg", { width: 16, height: 12, "aria-hidden": true }, svg("path", { class: name, d: "M1 1h14v10h-14z" })), words);
  return el("ul", { class: "legend" },
    mark("there", "in the group"), mark("out", "out, and back"), mark("paused", night.paused_words), mark("ring", "everybody waited for it"),
    el("li", {}, "a coloured square in a lane: that member caused the rebalance"));
}

function facts(night, bar) {
  const some = [["at (UTC)", clock(night, bar[AT], 1, true)]];
  if (bar[GENERATION] !== null) some.push(["generation or epoch", String(bar[GENERATION])]);
  if (bar[TOOK] >= 0) some.push(["took", lasting(bar[TOOK])]);
  if (bar[WAITED].length) some.push(["everybody waited for", bar[WAITED].map((lane) => night.lanes[lane]).join(", ")]);
  if (bar[PAUSE] !== null) some.push(["partitions or queues stood still for up to", lasting(bar[PAUSE])]);
  return el("dl", { class: "figures" }, ...some.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, el("b", {}, value)))));
}

// What is told about the chosen bar; lines of the logs stand as they were printed.
function panel(view, place) {
  const { night } = view;
  if (view.chosen === null) {
    place.replaceChildren(el("p", { class: "quiet" }, "Choose a bar: click it, or use the arrow keys on the picture. Its lines of the logs are shown here."));
    return;
  }
  const bar = night.bars[view.chosen];
  const lines = night.lines[view.chosen];
  const title = el("h3", {}, swatchOf(bar[CAUSE]), night.texts[bar[TEXT]]);
  const rest = lines
    ? el("ol", { class: "loglines", "aria-label": "Lines of the logs" }, ...lines.map(([file, number, text]) => el("li", {},
      el("bdi", { class: "place" }, `${file}:${number}`), el("code", {}, text ?? "(the line could not be read again)"))))
    : el("p", { class: "quiet" }, "Its lines are not in this page, which holds those of the longest rebalances of each cause; --format json names them.");
  place.replaceChildren(title, facts(night, bar), rest);
}

function tools(view) {
  const button = (text, label, act) => {
    const made = el("button", { type: "button", class: "tile", "aria-label": label, title: label }, text);
    made.addEventListener("click", act);
    return made;
  };
  const { night } = view;
  const used = [...new Set(night.bars.map((bar) => bar[CAUSE]))].sort((a, b) => a - b);
  const causes = el("select", {}, el("option", { value: "" }, "all causes"), ...used.map((cause) => el("option", { value: cause }, payload.causes[cause])));
  causes.addEventListener("change", () => view.only(causes.value === "" ? null : Number(causes.value)));
  const said = el("output", { "aria-live": "off" });
  const tell = () => {
    const step = view.to - view.from < 10000 ? 1 : 1000;
    said.textContent = `${clock(night, view.from, step, true)} to ${clock(night, view.to, step, night.end >= DAY)} UTC`;
  };
  view.onChange(tell);
  tell();
  return el("div", { class: "window tools" },
    el("label", {}, "Shown", causes),
    el("span", { class: "buttons" },
      button("◂ rebalance", "the rebalance before", () => view.step(-1)), button("rebalance ▸", "the next rebalance", () => view.step(1)),
      button("−", "show more time", () => view.zoom(2)), button("+", "show less time", () => view.zoom(0.5)),
      button("◂", "earlier", () => view.move(-0.5)), button("▸", "later", () => view.move(0.5)),
      button("all", "the whole time", () => view.show(0, night.end))),
    said);
}

// The bar nearest to a place of the picture; one of the lane that is pointed at comes first.
function nearest(view, x, at, lane) {
  let best = null;
  view.night.bars.forEach((bar, place) => {
    if (!view.counts(bar)) return;
    const [from, to] = [x(bar[AT]), x(bar[AT] + lasts(bar))];
    const apart = at < from ? from - at : at > to ? at - to : 0;
    const own = lane !== null && (bar[WHO].includes(lane) || bar[WAITED].includes(lane));
    const cost = apart + (lane === null || own ? 0 : 24);
    if (best === null || cost < best.cost) best = { place, cost };
  });
  return best;
}

const widthOf = (canvas) => Math.max(280, Math.floor(canvas.clientWidth));

function start(section) {
  const night = payload.groups[Number(section.dataset.group)];
  const place = section.querySelector(".chart-place");
  if (!place || !night.bars.length) return;
  const view = viewOf(night);
  const above = el("div", {});
  const below = el("div", { class: "canvas" });
  const pane = el("div", { class: "pane", tabindex: 0, role: "group", "aria-label": "rebalances over time: left and right choose one, plus and minus change the time shown, Home and End go to the first and the last" }, above, below, legend(night));
  const told = el("div", { class: "told", "aria-live": "polite" });
  const remarks = [];
  if (night.others) remarks.push(`${night.others} members that caused least have no lane.`);
  if (night.pauses_left_out) remarks.push(`The ${night.pauses_left_out} shortest pauses are not drawn.`);
  place.replaceChildren(tools(view), pane, ...remarks.map((text) => el("p", { class: "quiet" }, text)), told);
  let drawn = null;
  let shown;
  const draw = () => {
    const width = widthOf(below);
    const top = strip(view, width);
    const under = lanes(view, width);
    above.replaceChildren(top.picture);
    below.replaceChildren(under.picture);
    drawn = { ...top, width, laneHeight: under.height };
    if (shown !== view.chosen) panel(view, told);
    shown = view.chosen;
  };
  view.onChange(draw);
  const pick = (inLanes) => (event) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    const at = event.clientX - bounds.left;
    const lane = inLanes ? Math.floor((event.clientY - bounds.top + below.scrollTop) / drawn.laneHeight) : null;
    const best = nearest(view, drawn.x, at, lane);
    if (best) view.choose(best.place);
  };
  above.addEventListener("click", pick(false));
  below.addEventListener("click", pick(true));
  pane.addEventListener("keydown", (event) => {
    const acts = {
      ArrowLeft: () => view.step(-1),
      ArrowRight: () => view.step(1),
      Home: () => { view.chosen = null; view.step(1); },
      End: () => { view.chosen = null; view.step(-1); },
      "+": () => view.zoom(0.5),
      "-": () => view.zoom(2),
    };
    const act = event.ctrlKey || event.metaKey || event.altKey ? null : acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  // Drawing again between a press and its release would lose the click: only another width asks for it.
  new ResizeObserver(() => { if (below.clientWidth && widthOf(below) !== drawn.width) draw(); }).observe(place);
  panel(view, told);
  draw();
}

document.querySelectorAll(".night").forEach(start);
