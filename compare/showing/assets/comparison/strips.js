// The smaller charts below the ownership: how even it is, how many messages are sent, how many records wait.

const TALL = { even: 58, sent: 54, lag: 44 };
const SHADES = 6;

function strip(kind, words, view, variant, left, plot, width, draw) {
  const height = TALL[kind];
  const x = scaled(view, left, plot);
  const picture = svg("svg", { class: `chart strip ${kind}`, viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${variant.label}: ${words}` });
  picture.append(svg("rect", { class: "ground", x: left, y: 4, width: plot, height: height - 8 }));
  const clip = svg("svg", { x: left, y: 0, width: plot, height, overflow: "hidden", viewBox: `${left} 0 ${plot} ${height}` });
  picture.append(clip);
  draw(clip, x, height - 4, height - 14);
  view.scenario.events.forEach(([now]) => {
    if (now >= view.from && now <= view.to) clip.append(svg("path", { class: "eventline", d: `M${short(x(now))} 4V${height - 4}` }));
  });
  return picture;
}

function sideNames(picture, left, height, top, least) {
  picture.append(
    svg("text", { class: "side", x: left - 6, y: 14, "text-anchor": "end" }, top),
    svg("text", { class: "side", x: left - 6, y: height - 5, "text-anchor": "end" }, least),
  );
}

// A band from the least to the most queues a member has; dashed: the fairest that is possible.
function evenness(view, variant, left, plot, width) {
  const { points } = variant;
  const most = Math.max(1, ...points.map((each) => each[2] ?? 0), ...variant.best.map((each) => each[2] ?? 0));
  const last = points[points.length - 1];
  const words = `largest and smallest number of queues per member over time; at the end ${last ? `${last[1]} to ${last[2]}` : "unknown"}`;
  const picture = strip("even", words, view, variant, left, plot, width, (clip, x, floor, tall) => {
    const y = (value) => short(floor - (value / most) * tall);
    const up = [];
    const down = [];
    points.forEach(([now, least, high], number) => {
      const until = points[number + 1]?.[0] ?? view.scenario.end;
      if (high === null) return;
      up.push(`${short(x(now))} ${y(high)}L${short(x(until))} ${y(high)}`);
      down.unshift(`${short(x(until))} ${y(least)}L${short(x(now))} ${y(least)}`);
    });
    if (up.length) {
      clip.append(svg("path", { class: "band", d: `M${up.join("L")}L${down.join("L")}z` }));
      clip.append(svg("path", { class: "most", d: `M${up.join("L")}` }), svg("path", { class: "least", d: `M${[...down].join("L")}` }));
    }
    const dashed = variant.best.map(([now, , high], number) => {
      const until = variant.best[number + 1]?.[0] ?? view.scenario.end;
      return high === null ? "" : `M${short(x(now))} ${y(high)}L${short(x(until))} ${y(high)}`;
    });
    clip.append(svg("path", { class: "possible", d: dashed.join("") || "M0 0" }));
  });
  sideNames(picture, left, TALL.even, String(most), "0");
  return picture;
}

// Messages per piece of time, by type.
function sentOver(view, variant, left, plot, width) {
  const { types, counts } = variant.sent;
  const pieces = counts[0].length;
  const totals = counts[0].map((_, piece) => counts.reduce((sum, of) => sum + of[piece], 0));
  const most = Math.max(1, ...totals);
  const words = `messages over time: ${types.map((type, number) => `${counts[number].reduce((a, b) => a + b, 0)} ${type}`).join(", ")}`;
  const picture = strip("sent", words, view, variant, left, plot, width, (clip, x, floor, tall) => {
    const piece = view.scenario.end / pieces;
    const below = counts[0].map(() => 0);
    counts.forEach((of, type) => {
      const parts = of.map((count, number) => {
        if (!count) return "";
        const high = (count / most) * tall;
        const y = floor - below[number] - high;
        below[number] += high;
        const from = x(number * piece);
        return `M${short(from)} ${short(y)}h${short(Math.max(x((number + 1) * piece) - from - 0.5, 0.5))}v${short(high)}H${short(from)}z`;
      });
      clip.append(svg("path", { class: `shade s${type % SHADES}`, d: parts.join("") || "M0 0" }));
    });
  });
  const rate = most / (view.scenario.end / pieces / 1000);
  sideNames(picture, left, TALL.sent, `${Number(rate.toPrecision(2))}/s`, "0");
  return picture;
}

function sentLegend(variant) {
  const { types, counts } = variant.sent;
  return el("ul", { class: "legend small" }, ...types.map((type, number) => el("li", {},
    svg("svg", { width: 12, height: 12, "aria-hidden": true }, svg("rect", { class: `shade s${number % SHADES}`, width: 12, height: 12, rx: 2 })),
    `${type} ${counts[number].reduce((a, b) => a + b, 0).toLocaleString("en")}`)));
}

function waiting(view, variant, left, plot, width) {
  const { lag } = variant;
  const most = Math.max(1, ...lag);
  const picture = strip("lag", `lag in records, at most ${most}`, view, variant, left, plot, width, (clip, x, floor, tall) => {
    const piece = view.scenario.end / lag.length;
    const points = lag.map((value, number) => `${short(x((number + 1) * piece))} ${short(floor - (value / most) * tall)}`);
    clip.append(svg("path", { class: "waits", d: `M${short(x(0))} ${floor}L${points.join("L")}L${short(x(view.scenario.end))} ${floor}z` }));
  });
  sideNames(picture, left, TALL.lag, String(most), "0");
  return picture;
}
