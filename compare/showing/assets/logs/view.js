// What a group's picture shows: the piece of time, the chosen bar, the causes that count. Times are milliseconds after
// the begin of the group's logs.

const payload = JSON.parse(document.getElementById("data").textContent);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 15000, 30000, 60000, 120000, 300000, 600000, 1800000, 3600000, 7200000, 21600000, 43200000, 86400000, 604800000, 2592000000, 31536000000];
const DAY = 86400000;
const LEAST = 20;

const [AT, TOOK, GENERATION, CAUSE, WHO, WAITED, TEXT, PAUSE] = [0, 1, 2, 3, 4, 5, 6, 7];

const colour = (cause) => (cause < payload.colours ? `t${cause}` : "tx");
const pattern = (cause) => (cause > 0 && cause < payload.colours ? `url(#pt${cause})` : null);
const lasts = (bar) => Math.max(bar[TOOK], 0);

// The moment as UTC: as much of date and fraction as steps of so many milliseconds need.
function clock(night, at, step = 1000, dated = false) {
  const text = new Date(night.begin + at).toISOString();
  const time = step >= 60000 ? text.slice(11, 16) : step >= 1000 ? text.slice(11, 19) : text.slice(11, 23);
  if (step >= DAY) return text.slice(0, 10);
  return dated ? `${text.slice(0, 10)} ${time}` : time;
}

function lasting(ms) {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 120000) return `${Number((ms / 1000).toPrecision(3))} s`;
  if (ms < 7200000) return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
  return `${Number((ms / 3600000).toPrecision(3))} h`;
}

function viewOf(night) {
  const listeners = [];
  const told = () => listeners.forEach((listener) => listener());
  const state = {
    night,
    from: 0,
    to: night.end,
    chosen: null,
    cause: null,
    onChange: (listener) => listeners.push(listener),
    counts: (bar) => state.cause === null || bar[CAUSE] === state.cause,
    show(from, to) {
      const width = clamp(to - from, LEAST, night.end);
      state.from = clamp(from, 0, night.end - width);
      state.to = state.from + width;
      told();
    },
    zoom(factor) {
      const bar = state.chosen === null ? null : night.bars[state.chosen];
      const inside = bar && bar[AT] >= state.from && bar[AT] <= state.to;
      const middle = inside ? bar[AT] + lasts(bar) / 2 : (state.from + state.to) / 2;
      const width = (state.to - state.from) * factor;
      state.show(middle - width / 2, middle + width / 2);
    },
    move: (share) => state.show(state.from + (state.to - state.from) * share, state.to + (state.to - state.from) * share),
    choose(place) {
      state.chosen = place;
      const bar = night.bars[place];
      const width = state.to - state.from;
      if (bar && (bar[AT] < state.from || bar[AT] + lasts(bar) > state.to)) state.show(bar[AT] - width / 2, bar[AT] + width / 2);
      else told();
    },
    // The next bar that counts, in the direction of `by`.
    step(by) {
      const last = night.bars.length - 1;
      let place = state.chosen === null ? (by > 0 ? 0 : last) : state.chosen + by;
      while (place >= 0 && place <= last && !state.counts(night.bars[place])) place += by;
      if (place >= 0 && place <= last) state.choose(place);
    },
    only(cause) {
      state.cause = cause;
      told();
    },
  };
  return state;
}

const scaled = (view, left, width) => (at) => left + ((at - view.from) / (view.to - view.from)) * width;

function tickStep(view, width) {
  const wanted = (view.to - view.from) / Math.max(2, width / 90);
  return STEPS.find((step) => step >= wanted) ?? STEPS[STEPS.length - 1];
}

const ruler = document.createElement("canvas").getContext("2d");

// The text in so many pixels; its end tells members apart more often than its middle.
function fitted(text, pixels, style = "11px") {
  ruler.font = `${style} ${getComputedStyle(document.body).fontFamily}`;
  if (ruler.measureText(text).width <= pixels) return text;
  const letters = Array.from(text);
  for (let most = Math.min(letters.length - 1, 80); most > 2; most -= 1) {
    const tail = Math.ceil(most * 0.6);
    const cut = `${letters.slice(0, most - tail).join("")}…${letters.slice(letters.length - tail).join("")}`;
    if (ruler.measureText(cut).width <= pixels) return cut;
  }
  return "…";
}
