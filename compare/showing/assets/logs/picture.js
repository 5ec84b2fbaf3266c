// The picture of a group: rebalances as bars over time, below them a lane for each member.

const STRIP = 34;
const AXIS = 20;
const LEAST_BAR = 3;
const CROWD = 4;
const short = (x) => x.toFixed(1);
const box = (x, y, width, height) => `M${short(x)} ${y}h${short(width)}v${height}h${short(-width)}z`;

const gutter = (night, width) => clamp(Math.max(10, ...night.lanes.map((name) => name.length)) * 6.6 + 12, 60, Math.min(190, width * 0.28));
const laneHeight = (count) => (count <= 16 ? 22 : count <= 50 ? 16 : 12);

// From and width of a stretch in pixels, null where it is not in view.
function stretch(view, x, left, plot, at, length, least) {
  if (at > view.to || at + length < view.from) return null;
  const from = clamp(x(at), left, left + plot);
  const to = clamp(x(at + length), left, left + plot);
  const wide = Math.max(to - from, least);
  return [Math.min(from, left + plot - wide), wide];
}

// Where bars would cover each other: how many of each cause begin in each piece of time, one on top of the other.
function crowd(view, plot, left, y, height) {
  const pieces = Math.floor(plot / CROWD);
  const counts = new Map();
  const totals = new Array(pieces).fill(0);
  view.night.bars.forEach((bar) => {
    if (bar[TOOK] === -2 || !view.counts(bar) || bar[AT] < view.from || bar[AT] > view.to) return;
    const piece = Math.min(Math.floor(((bar[AT] - view.from) / (view.to - view.from)) * pieces), pieces - 1);
    if (!counts.has(bar[CAUSE])) counts.set(bar[CAUSE], new Array(pieces).fill(0));
    counts.get(bar[CAUSE])[piece] += 1;
    totals[piece] += 1;
  });
  const most = Math.max(1, ...totals);
  const below = new Array(pieces).fill(0);
  const group = svg("g", {}, svg("title", {}, `at most ${counted(most, "rebalance")} in ${lasting(Math.round((view.to - view.from) / pieces))}`));
  for (const [cause, some] of [...counts].sort((a, b) => a[0] - b[0])) {
    const parts = some.map((count, piece) => {
      if (!count) return "";
      below[piece] += count;
      const high = (count / most) * height;
      return box(left + piece * CROWD, short(y + height - (below[piece] / most) * height), CROWD - 0.5, short(high));
    });
    group.append(svg("path", { class: colour(cause), d: parts.join("") }));
  }
  return group;
}

const inView = (view) => view.night.bars.reduce((count, bar) => count + (bar[AT] >= view.from && bar[AT] <= view.to ? 1 : 0), 0);

// One path for each cause, whatever the number of bars.
function bars(view, x, left, plot, y, height) {
  const counted = new Map();
  const faded = new Map();
  view.night.bars.forEach((bar) => {
    const where = stretch(view, x, left, plot, bar[AT], lasts(bar), LEAST_BAR);
    if (!where) return;
    const into = view.counts(bar) ? counted : faded;
    const event = bar[TOOK] === -2;
    if (!into.has(bar[CAUSE])) into.set(bar[CAUSE], []);
    into.get(bar[CAUSE]).push(box(where[0], event ? y + height * 0.6 : y, where[1], event ? height * 0.4 : height));
  });
  const group = svg("g", {});
  for (const [of, known] of [[faded, "faded"], [counted, ""]]) {
    for (const [cause, parts] of [...of].sort((a, b) => a[0] - b[0])) {
      const d = parts.join("");
      group.append(svg("path", { class: `${colour(cause)} ${known}`, d }));
      if (pattern(cause)) group.append(svg("path", { class: `over ${known}`, fill: pattern(cause), d }));
    }
  }
  return group;
}

function axis(view, x, plot, left, y) {
  const group = svg("g", { class: "axis" });
  const step = tickStep(view, plot);
  const begin = view.night.begin;
  for (let at = Math.ceil((begin + view.from) / step) * step - begin; at <= view.to; at += step) {
    const place = x(at);
    const anchor = place > left + plot - 30 ? "end" : place < left + 30 ? "start" : "middle";
    group.append(svg("path", { d: `M${short(place)} ${y}v4` }), svg("text", { x: short(place), y: y + 15, "text-anchor": anchor }, clock(view.night, at, step)));
  }
  return group;
}

function strip(view, width) {
  const left = gutter(view.night, width);
  const plot = width - left - 6;
  const x = scaled(view, left, plot);
  const picture = svg("svg", { class: "chart strip", viewBox: `0 0 ${width} ${STRIP + AXIS}`, width, height: STRIP + AXIS, role: "img", "aria-label": said(view) });
  picture.append(
    svg("text", { x: left - 6, y: STRIP / 2 + 4, "text-anchor": "end" }, fitted("rebalances", left - 8)),
    svg("rect", { class: "ground", x: left, y: 2, width: plot, height: STRIP - 4 }),
    inView(view) > plot / CROWD ? crowd(view, plot, left, 4, STRIP - 8) : bars(view, x, left, plot, 4, STRIP - 8),
    axis(view, x, plot, left, STRIP),
  );
  const chosen = view.night.bars[view.chosen ?? -1];
  const where = chosen && stretch(view, x, left, plot, chosen[AT], lasts(chosen), LEAST_BAR);
  if (where) picture.append(svg("path", { class: "chosen", d: box(where[0] - 2, 2, where[1] + 4, STRIP - 4) }));
  return { picture, left, plot, x };
}

function lanes(view, width) {
  const { night } = view;
  const left = gutter(night, width);
  const plot = width - left - 6;
  const x = scaled(view, left, plot);
  const height = laneHeight(night.lanes.length);
  const tall = night.lanes.length * height;
  const picture = svg("svg", { class: "chart lanes", viewBox: `0 0 ${width} ${tall + 2}`, width, height: tall + 2, role: "img", "aria-label": `${counted(night.lanes.length, "member")}: when each was in the group, and when its partitions stood still` });
  const row = (lane) => lane * height + 1;
  night.lanes.forEach((name, lane) => picture.append(
    svg("text", { x: left - 6, y: row(lane) + height / 2 + 3, "text-anchor": "end" }, svg("title", {}, name), fitted(name, left - 8)),
    svg("rect", { class: "lane", x: left, y: row(lane), width: plot, height: height - 2 }),
  ));
  const paths = { there: [], out: [], paused: [] };
  const put = (into, lane, at, length, inset, least) => {
    const where = stretch(view, x, left, plot, at, length, least);
    if (where) paths[into].push(box(where[0], row(lane) + inset, where[1], height - 2 - 2 * inset));
  };
  night.there.forEach(([lane, at, length]) => put("there", lane, at, length, 0, 1));
  absences(night).forEach(([lane, at, length]) => put("out", lane, at, length, height / 4, 2));
  night.paused.forEach(([lane, at, length]) => put("paused", lane, at, length, height >= 16 ? 2 : 1, 1.5));
  for (const [name, parts] of Object.entries(paths)) if (parts.length) picture.append(svg("path", { class: name, d: parts.join("") }));
  picture.append(marks(view, x, left, plot, row, height));
  const chosen = night.bars[view.chosen ?? -1];
  if (chosen && chosen[AT] >= view.from && chosen[AT] <= view.to) picture.append(svg("path", { class: "when", d: `M${short(x(chosen[AT]))} 0V${tall}` }));
  return { picture, height };
}

// Between two stays in the group a member was out of it.
function absences(night) {
  if (night.absences) return night.absences;
  const last = new Map();
  night.absences = [];
  for (const [lane, at, length] of [...night.there].sort((a, b) => a[1] - b[1])) {
    if (last.has(lane) && at > last.get(lane)) night.absences.push([lane, last.get(lane), at - last.get(lane)]);
    last.set(lane, Math.max(at + length, last.get(lane) ?? 0));
  }
  return night.absences;
}

// Who caused a rebalance has its colour in the lane; a ring is round the one that everybody waited for.
function marks(view, x, left, plot, row, height) {
  const group = svg("g", {});
  const parts = new Map();
  const rings = [];
  const size = Math.min(height - 4, 12);
  const wide = inView(view) > plot / CROWD / 4 ? LEAST_BAR : size;
  view.night.bars.forEach((bar) => {
    if (!view.counts(bar) || bar[AT] < view.from || bar[AT] > view.to) return;
    const at = clamp(x(bar[AT]) - wide / 2, left, left + plot - wide);
    for (const lane of bar[WHO]) {
      if (!parts.has(bar[CAUSE])) parts.set(bar[CAUSE], []);
      parts.get(bar[CAUSE]).push(box(at, row(lane) + (height - 2 - size) / 2, wide, size));
    }
    for (const lane of bar[WAITED]) rings.push(box(at - 2, row(lane), wide + 4, height - 2));
  });
  for (const [cause, some] of [...parts].sort((a, b) => a[0] - b[0])) {
    group.append(svg("path", { class: colour(cause), d: some.join("") }));
    if (pattern(cause) && wide >= 8) group.append(svg("path", { class: "over", fill: pattern(cause), d: some.join("") }));
  }
  if (rings.length) group.append(svg("path", { class: "ring", d: rings.join("") }));
  return group;
}

// The picture in words.
function said(view) {
  const { night } = view;
  const rebalances = night.bars.filter((bar) => bar[TOOK] !== -2);
  const counts = payload.causes.map((name, cause) => [name, rebalances.filter((bar) => bar[CAUSE] === cause).length]).filter((each) => each[1]);
  const longest = rebalances.reduce((most, bar) => Math.max(most, bar[TOOK]), 0);
  return `${counted(rebalances.length, "rebalance")} over ${lasting(night.end)}, the longest took ${lasting(longest)}. Causes: ${counts.map(([name, count]) => `${name} ${count}`).join(", ") || "none"}.`;
}
