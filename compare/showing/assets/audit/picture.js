// The picture of one view of a group (today, best strategy, optimum): a bar per member, a cell per queue where there
// is room, coloured and patterned by topic. All views of a group share one scale and one order of members.

const COLOURS = 7; // topics with a colour and pattern of their own; the others share a grey
const ROW = 24;
const BAR = 18;
const TOP = 20;
const VALUE = 46; // room right of the bars for the load
const VALUE_TWICE = 92; // the same where it also says how many queues are owned twice

const slot = (topic) => (topic < COLOURS ? topic : "x");

// What is drawn for view 0, 1 or 2: rows with their queues, and the gap between the heaviest and the lightest.
function viewOf(group, view) {
  const rows = group.members.map((member) => ({ id: member[0], runs: parse(member[view + 1]) }));
  const loads = rows.filter((row) => row.runs).map((row) => load(row.runs));
  const range = group.gap && group.gap[1][view];
  return { rows, most: Math.max(0, ...loads, ...(range ?? [])), told: loads.length === rows.length };
}

const gapWords = (group, view) => {
  const [count, ranges] = group.gap;
  const range = ranges[view];
  const each = range === null ? "" : range[0] === range[1] ? ` with ${range[0]} each` : ` with ${range[0]} to ${range[1]} each`;
  return `${counted(count, "more member")}${each}`;
};

function summary(group, view, title) {
  const { rows } = viewOf(group, view);
  const loads = rows.filter((row) => row.runs).map((row) => load(row.runs));
  const parts = [`${title}: ${counted(rows.length, "member")} drawn`];
  if (loads.length) parts.push(`${Math.min(...loads)} to ${Math.max(...loads)} queues each`);
  const idle = loads.filter((each) => each === 0).length;
  if (idle) parts.push(`${idle} idle`);
  if (group.gap) parts.push(gapWords(group, view));
  if (view === 0 && group.unowned) parts.push(`${counted(load(parse(group.unowned)), "queue")} without owner`);
  if (view === 0 && group.twice) parts.push(`${counted(load(parse(group.twice)), "queue")} owned twice`);
  return parts.join(", ");
}

function picture(group, view, title, width) {
  const shown = viewOf(group, view);
  const label = Math.min(170, Math.max(84, Math.round(width * 0.32)));
  const room = width - label - (group.twice ? VALUE_TWICE : VALUE);
  const unowned = view === 0 && group.unowned ? parse(group.unowned) : null;
  const most = Math.max(1, ...[0, 1, 2].filter((at) => group.views[at]).map((at) => viewOf(group, at).most), unowned ? load(unowned) : 0);
  const unit = Math.min(24, room / most);
  const lines = shown.rows.length + (group.gap ? 1 : 0) + (unowned ? 1 : 0);
  const root = svg("svg", {
    class: "picture", viewBox: `0 0 ${width} ${TOP + lines * ROW + 4}`, width, height: TOP + lines * ROW + 4,
    role: "img", "aria-label": summary(group, view, title),
  });
  const names = shortNames(shown.rows.map((row) => row.id));
  const twice = new Set(view === 0 ? queuesOf(parse(group.twice)).map((queue) => queue.key) : []);
  const draft = { group, view, label, unit, twice };
  const mean = figure(group, "mean");
  const ofQueues = figure(group, "queues");
  const members = figure(group, "members");
  const share = ofQueues !== null && members ? ofQueues / members : mean;
  const gapAfter = group.gap ? Math.ceil(shown.rows.length * 0.6) : -1;
  let y = TOP;
  shown.rows.forEach((row, at) => {
    if (at === gapAfter) {
      root.append(svg("text", { class: "gap", x: 4, y: y + 14 }, `⋮ ${fitted(gapWords(group, view), width - 24)}`));
      y += ROW;
    }
    root.append(memberRow(draft, row, names[at], group.members[at], y));
    y += ROW;
  });
  if (unowned) root.append(unownedRow(draft, unowned, y));
  if (share && share <= most) {
    const x = label + share * unit;
    root.append(svg("path", { class: "mean", d: `M${x.toFixed(1)} ${TOP - 4}V${TOP + lines * ROW}` }));
    root.append(svg("text", { class: "meanwords", x: Math.min(x, width - 50), y: 11, "text-anchor": "middle" }, `fair share ${number(share, 1)}`));
  }
  return root;
}

function memberRow(draft, row, name, member, y) {
  const { group, view, label, unit } = draft;
  const told = row.runs ? words(group, row.runs) || "no queue" : "unknown";
  const line = svg("g", { transform: `translate(0 ${y})` }, svg("title", {}, `${row.id}: ${told}`));
  line.append(svg("text", { class: "who", x: label - 6, y: 14, "text-anchor": "end" }, fitted(name, label - 8)));
  if (row.runs === null) {
    line.append(svg("text", { class: "untold", x: label + 4, y: 14 }, "unknown"));
    return line;
  }
  const size = load(row.runs);
  if (size === 0) {
    const width = Math.max(58, unit);
    line.append(svg("rect", { class: "idle", x: label + 0.5, y: 0.5, width, height: BAR - 1, rx: 3 }));
    line.append(svg("text", { class: "idlewords", x: label + width / 2, y: 13, "text-anchor": "middle" }, "idle"));
    return line;
  }
  const before = parse(member[1]);
  const kept = view > 0 && before ? new Set(queuesOf(before).map((queue) => queue.key)) : null;
  line.append(unit >= 7 ? cells(draft, row.runs, kept) : segments(draft, row.runs));
  const doubled = queuesOf(row.runs).filter((queue) => queue.key !== null && draft.twice.has(queue.key)).length;
  line.append(svg("text", { class: doubled ? "value warn" : "value", x: label + size * unit + 6, y: 14 }, doubled ? `${size}, ${doubled} twice` : String(size)));
  return line;
}

function unownedRow(draft, runs, y) {
  const { group, label, unit } = draft;
  const line = svg("g", { class: "orphans", transform: `translate(0 ${y})` }, svg("title", {}, `no owner: ${words(group, runs)}`));
  line.append(svg("text", { class: "who warn", x: label - 6, y: 14, "text-anchor": "end" }, "⚠ no owner"));
  line.append(unit >= 7 ? cells(draft, runs, null) : segments(draft, runs));
  line.append(svg("rect", { class: "orphan", x: label - 1, y: -1, width: load(runs) * unit + 1, height: BAR + 2, rx: 3 }));
  line.append(svg("text", { class: "value warn", x: label + load(runs) * unit + 6, y: 14 }, String(load(runs))));
  return line;
}

// One cell a queue, with its number where it fits. A dot marks a queue that this member does not own today.
function cells(draft, runs, kept) {
  const { group, label, unit, twice } = draft;
  const all = svg("g", {});
  queuesOf(runs).forEach((queue, at) => {
    const x = label + at * unit;
    const doubled = queue.key !== null && twice.has(queue.key);
    const moved = kept !== null && queue.key !== null && !kept.has(queue.key);
    const box = { x: x.toFixed(2), y: doubled ? 1 : 0, width: (unit - 1.5).toFixed(2), height: doubled ? BAR - 2 : BAR, rx: 2 };
    const broker = queue.key === null ? "" : group.brokers[queue.broker];
    const name = [group.topics[queue.topic], broker, queue.number].filter((part) => part !== "" && part !== null).join(" ");
    const remark = doubled ? ", owned twice" : moved ? ", new for this member" : "";
    all.append(svg("rect", { ...box, class: `t${slot(queue.topic)}` }, svg("title", {}, name + remark)));
    if (queue.topic > 0 && queue.topic < COLOURS) all.append(svg("rect", { ...box, class: "over", fill: `url(#pt${queue.topic})` }));
    if (doubled) all.append(svg("rect", { ...box, class: "twice" }));
    const text = queue.number === null ? "" : String(queue.number);
    if (text && text.length * 6 + 4 < unit) {
      all.append(svg("text", { class: `num n${slot(queue.topic)}`, x: (x + (unit - 1.5) / 2).toFixed(2), y: 13, "text-anchor": "middle" }, text));
    }
    if (moved && unit >= 9) all.append(svg("circle", { class: "moved", cx: (x + unit - 3.5).toFixed(2), cy: 2.5, r: 2.5 }));
  });
  return all;
}

// Too many queues for cells: one segment a topic, with the count where it fits.
function segments(draft, runs) {
  const { group, label, unit } = draft;
  const perTopic = new Map();
  for (const run of runs) {
    const at = slot(run.topic);
    const sum = perTopic.get(at) ?? { count: 0, topics: new Set(), first: run.topic };
    sum.count += run.count;
    sum.topics.add(run.topic);
    perTopic.set(at, sum);
  }
  const all = svg("g", {});
  let x = label;
  for (const [at, { count, topics, first }] of perTopic) {
    const size = count * unit;
    const box = { x: x.toFixed(2), y: 0, width: Math.max(0.5, size - 1).toFixed(2), height: BAR, rx: Math.min(2, size / 4) };
    const name = topics.size > 1 ? counted(topics.size, "other topic") : group.topics[first];
    all.append(svg("rect", { ...box, class: `t${at}` }, svg("title", {}, `${name}: ${counted(count, "queue")}`)));
    if (at > 0) all.append(svg("rect", { ...box, class: "over", fill: `url(#pt${at})` }));
    const text = String(count);
    if (text.length * 7 + 6 < size) {
      all.append(svg("text", { class: `num n${at}`, x: (x + size / 2).toFixed(2), y: 13, "text-anchor": "middle" }, text));
    }
    x += size;
  }
  return all;
}

function legend(group, moves) {
  const list = el("ul", { class: "legend" });
  const entry = (box, text) => list.append(el("li", {}, svg("svg", { width: 18, height: 14, "aria-hidden": "true" }, ...box), el("bdi", {}, text)));
  group.topics.slice(0, COLOURS).forEach((topic, at) => {
    const box = { x: 0, y: 0, width: 18, height: 14, rx: 2 };
    entry([svg("rect", { ...box, class: `t${at}` }), at ? svg("rect", { ...box, class: "over", fill: `url(#pt${at})` }) : null], topic);
  });
  const others = group.topics.length - COLOURS;
  if (others > 0) entry([svg("rect", { width: 18, height: 14, rx: 2, class: "tx" })], others === 1 ? group.topics[COLOURS] : counted(others, "other topic"));
  if (moves) entry([svg("circle", { class: "moved", cx: 9, cy: 7, r: 3.5 })], "new for this member");
  if (group.twice) entry([svg("rect", { class: "twice", x: 1, y: 1, width: 16, height: 12, rx: 2 })], "owned twice");
  return list;
}
