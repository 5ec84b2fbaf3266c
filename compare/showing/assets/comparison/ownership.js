// Queue by time, coloured by who believes to own it; gaps and double ownership stand out, however short they are.

const LEAST_MARK = 3;

function rowHeight(count) {
  if (count <= 10) return 20;
  if (count <= 24) return 14;
  if (count <= 60) return 8;
  return count <= 120 ? 5 : 3;
}

const short = (x) => x.toFixed(1);
const box = (x, y, width, height) => `M${short(x)} ${y}h${short(width)}v${height}h${short(-width)}z`;

function ownership(view, variant, width) {
  const rows = rowsOf(variant, view.scenario.end);
  const height = rowHeight(rows.length);
  const pad = height >= 8 ? 2 : height >= 5 ? 1 : 0;
  const left = gutter(view.scenario.variants, width);
  const plot = width - left - 6;
  const x = scaled(view, left, plot);
  const top = BADGES + 2;
  const bottom = top + rows.length * height;
  const fills = new Map();
  const labels = svg("g", { class: "labels" });
  const labelsOfTwo = svg("g", { class: "labels" });
  const gaps = [];
  const doubles = [];
  const highlighted = view.highlighted === null ? -1 : variant.members.indexOf(view.highlighted);
  rows.forEach((row, number) => {
    const y = top + number * height;
    for (const each of row.held) {
      if (each.until < view.from || each.since > view.to) continue;
      const from = Math.max(x(each.since), left);
      const to = Math.min(x(each.until), left + plot);
      const key = each.member;
      if (!fills.has(key)) fills.set(key, []);
      fills.get(key).push(box(from, y, Math.max(to - from, 0.5), height - pad));
      const name = variant.members[each.member];
      if (height >= 14 && to - from > name.length * 7 + 10) {
        labels.append(svg("text", { class: colour(each.member) === "t0" ? "num n0" : "num", x: short(from + 5), y: y + height - pad - (height >= 20 ? 5 : 2) }, name));
      }
    }
    const mark = (each, into) => {
      if (each.until < view.from || each.since > view.to) return false;
      const from = clamp(x(each.since), left, left + plot);
      const to = clamp(x(each.until), left, left + plot);
      const wide = Math.max(to - from, LEAST_MARK);
      into.push([clamp((from + to - wide) / 2, left, left + plot - wide), y, wide, height - pad]);
      return true;
    };
    row.gaps.forEach((each) => mark(each, gaps));
    for (const each of row.doubles) {
      if (!mark(each, doubles)) continue;
      const [from, , wide] = doubles[doubles.length - 1];
      const names = each.members.map((member) => variant.members[member]).join(" + ");
      const room = names.length * 7 + 8;
      if (height < 14 || wide < room + 6) continue;
      labelsOfTwo.append(svg("rect", { class: "behind", x: short(from + (wide - room) / 2), y: y + 2, width: room, height: height - pad - 4, rx: 3 }));
      labelsOfTwo.append(svg("text", { class: "num both", x: short(from + wide / 2), y: y + height - pad - (height >= 20 ? 5 : 2), "text-anchor": "middle" }, names));
    }
  });
  const picture = svg("svg", { class: "chart ownership", viewBox: `0 0 ${width} ${bottom + AXIS}`, width, height: bottom + AXIS, role: "img", "aria-label": said(variant, rows, view) });
  picture.append(rowNames(variant, height, top, left, width), svg("rect", { class: "ground", x: left, y: top, width: plot, height: bottom - top }));
  for (const [member, parts] of [...fills].sort((a, b) => a[0] - b[0])) {
    const faded = highlighted >= 0 && member !== highlighted ? " faded" : "";
    const d = parts.join("");
    picture.append(svg("path", { class: colour(member) + faded, d }));
    if (pattern(member) && height >= 5) picture.append(svg("path", { class: `over${faded}`, fill: `url(#pt${pattern(member)})`, d }));
  }
  const path = (parts) => parts.map(([from, y, wide, high]) => box(from, y, wide, high)).join("");
  picture.append(labels);
  if (gaps.length) picture.append(svg("path", { class: "nobody", d: path(gaps) }));
  if (doubles.length) picture.append(svg("path", { class: "twoowners", d: path(doubles) }), labelsOfTwo);
  picture.append(eventLines(view, x, top, bottom), axis(view, x, plot, bottom));
  return { picture, x, left, plot, top, bottom, rowAt: (y) => Math.floor((y - top) / height), rows };
}

// Room for names, the same for all variants: an event stands at the same place in all pictures.
const gutter = (variants, width) => {
  const longest = Math.max(...variants.flatMap((each) => each.rows.map((row) => rowName(row).length)), 4);
  return clamp(longest * 6.6 + 10, 40, Math.min(170, width * 0.28));
};

// Names of queues where they fit, else of topics, each beside its block.
function rowNames(variant, height, top, left, width) {
  const group = svg("g", { class: "rownames" });
  const fit = (text) => fitted(text, left - 8);
  if (height >= 14) {
    variant.rows.forEach((row, number) => group.append(svg("text", { x: left - 6, y: top + number * height + height / 2 + 3, "text-anchor": "end" }, svg("title", {}, rowName(row)), fit(rowName(row)))));
    return group;
  }
  let first = 0;
  variant.rows.forEach((row, number) => {
    const next = variant.rows[number + 1];
    if (next && next[0] === row[0] && next[1] === row[1]) return;
    const y = top + first * height;
    const block = (number - first + 1) * height;
    const name = row[0] + (row[1] ? ` ${row[1]}` : "");
    if (block >= 12) group.append(svg("text", { x: left - 6, y: y + block / 2 + 4, "text-anchor": "end" }, svg("title", {}, `${name}, ${counted(number - first + 1, "queue")}`), fit(name)));
    if (next) group.append(svg("path", { d: `M${left - 5} ${y + block - 0.5}h${5}` }));
    first = number + 1;
  });
  return group;
}

const ruler = document.createElement("canvas").getContext("2d");

// The text in so many pixels; its end tells queues apart more often than its middle.
function fitted(text, pixels, style = "11px") {
  ruler.font = `${style} ${getComputedStyle(document.body).fontFamily}`;
  if (ruler.measureText(text).width <= pixels) return text;
  for (let most = text.length - 1; most > 2; most -= 1) {
    const tail = Math.ceil(most * 0.6);
    const cut = `${text.slice(0, most - tail)}…${text.slice(text.length - tail)}`;
    if (ruler.measureText(cut).width <= pixels) return cut;
  }
  return "…";
}

// The picture in words.
function said(variant, rows, view) {
  const gaps = rows.flatMap((row) => row.gaps);
  const doubles = rows.flatMap((row) => row.doubles);
  const longest = gaps.reduce((most, gap) => Math.max(most, gap.until - gap.since), 0);
  const loads = ownedAt(variant, rows, view.scenario.end - 0.5).map((each, member) => `${variant.members[member]} ${each.length}`);
  if (rows.length && variant.alone.length === rows.length) return `${variant.label}: what each member reads over ${lasting(view.scenario.end)}; every member must read every queue. Queues at the end: ${loads.slice(0, 30).join(", ")}${loads.length > 30 ? ", ..." : ""}.`;
  return `${variant.label}: who owns each of ${counted(rows.length, "queue")} over ${lasting(view.scenario.end)}. `
    + (gaps.length ? `${counted(gaps.length, "time")} a queue has no owner, ${lasting(longest)} at the longest. ` : "No queue is ever without an owner. ")
    + (doubles.length ? `${counted(doubles.length, "time")} a queue has several owners. ` : "No queue ever has two owners. ")
    + `Queues at the end: ${loads.slice(0, 30).join(", ")}${loads.length > 30 ? ", ..." : ""}.`;
}
