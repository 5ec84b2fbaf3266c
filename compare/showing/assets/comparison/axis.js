// What all charts of a scenario share: the piece of time that is shown, and the moment under the pointer.

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 15000, 30000, 60000, 120000, 300000, 600000, 1800000, 3600000, 21600000, 86400000];
const AXIS = 20;
const BADGES = 18;

function shared(scenario) {
  const listeners = { view: [], cursor: [] };
  const state = {
    scenario,
    from: 0,
    to: scenario.end,
    cursor: null,
    highlighted: null,
    on: (what, listener) => listeners[what].push(listener),
    show(from, to) {
      const least = 20;
      const width = clamp(to - from, least, scenario.end);
      state.from = clamp(from, 0, scenario.end - width);
      state.to = state.from + width;
      listeners.view.forEach((listener) => listener());
    },
    point(now) {
      // What is held to the end is held at its last moment.
      state.cursor = now === null ? null : clamp(now, 0, scenario.end - 1);
      listeners.cursor.forEach((listener) => listener());
    },
    highlight(name) {
      state.highlighted = state.highlighted === name ? null : name;
      listeners.view.forEach((listener) => listener());
    },
  };
  return state;
}

// Milliseconds to pixels within a chart whose plot begins at `left` and is `width` wide.
const scaled = (view, left, width) => (now) => left + ((now - view.from) / (view.to - view.from)) * width;

function tickStep(view, width) {
  const wanted = (view.to - view.from) / Math.max(2, width / 80);
  return STEPS.find((step) => step >= wanted) ?? STEPS[STEPS.length - 1];
}

function axis(view, x, width, y) {
  const group = svg("g", { class: "axis" });
  const step = tickStep(view, width);
  for (let now = Math.ceil(view.from / step) * step; now <= view.to; now += step) {
    const right = x(now) > x(view.to) - 16;
    group.append(svg("path", { d: `M${x(now).toFixed(1)} ${y}v4` }));
    group.append(svg("text", { x: x(now).toFixed(1), y: y + 15, "text-anchor": right ? "end" : "middle" }, clock(now, step)));
  }
  return group;
}

// A line for each event through the whole chart; on top its number, where there is room for it.
function eventLines(view, x, top, bottom) {
  const group = svg("g", { class: "events" });
  let taken = -Infinity;
  view.scenario.events.forEach(([now, what], number) => {
    if (now < view.from || now > view.to) return;
    const left = x(now);
    const line = svg("g", {}, svg("title", {}, `${number + 1}: ${clock(now)} ${what}`), svg("path", { d: `M${left.toFixed(1)} ${top}V${bottom}` }));
    if (left - taken >= 17) {
      line.append(svg("circle", { cx: left.toFixed(1), cy: top - 9, r: 8 }), svg("text", { x: left.toFixed(1), y: top - 5, "text-anchor": "middle" }, String(number + 1)));
      taken = left;
    }
    group.append(line);
  });
  return group;
}

// Buttons and lists above the charts: which piece of time they show.
function windowTools(view, place) {
  const { scenario } = view;
  const button = (text, label, act) => {
    const made = el("button", { type: "button", class: "tile", "aria-label": label, title: label }, text);
    made.addEventListener("click", act);
    return made;
  };
  const zoom = (factor) => () => {
    const middle = view.cursor !== null && view.cursor >= view.from && view.cursor <= view.to ? view.cursor : (view.from + view.to) / 2;
    const width = (view.to - view.from) * factor;
    view.show(middle - width / 2, middle + width / 2);
  };
  const move = (share) => () => view.show(view.from + (view.to - view.from) * share, view.to + (view.to - view.from) * share);
  const jump = el("select", {}, el("option", { value: "" }, "the whole run"));
  scenario.events.forEach(([now, what], number) => jump.append(el("option", { value: number }, `${number + 1}: ${clock(now)} ${what}`)));
  jump.addEventListener("change", () => {
    if (jump.value === "") return view.show(0, scenario.end);
    const [now] = scenario.events[Number(jump.value)];
    const next = scenario.events.map((each) => each[0]).find((each) => each > now) ?? scenario.end;
    const width = clamp(next - now, 4000, 20000);
    return view.show(now - width * 0.1, now + width);
  });
  const said = el("output", { "aria-live": "polite" });
  const tell = () => {
    said.textContent = `${clock(view.from, tickStep(view, 800))} to ${clock(view.to, tickStep(view, 800))}`;
    if (view.from <= 0 && view.to >= scenario.end) jump.value = "";
  };
  view.on("view", tell);
  tell();
  place.append(
    el("label", { class: "grow" }, "Time shown", jump),
    el("span", { class: "buttons" }, button("−", "show more time", zoom(2)), button("+", "show less time", zoom(0.5)), button("◂", "earlier", move(-0.5)), button("▸", "later", move(0.5))),
    said,
  );
  place.hidden = false;
}
