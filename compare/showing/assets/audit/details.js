// A group's details, built when they are opened: why, what to do, pictures, figures, topics, what-if.

const WHAT_IF_HEADS = { max: "max", min: "min", idle_members: "idle", jain: "Jain", moves: "moves" };
const TOPIC_HEADS = {
  queues: "queues", min: "min", max: "max", mean: "mean", idle_members: "without", jain: "Jain",
  unowned_queues: "no owner", double_owned_queues: "twice", lag: "lag",
};

function table(caption, heads, rows, marked = () => null) {
  const head = el("tr", {}, ...heads.map(([text, kind]) => el("th", { scope: "col", class: kind }, text)));
  const body = rows.map((row, at) => el("tr", { class: marked(at) }, ...row.map((cell, column) => el("td", { class: heads[column][1] }, el("bdi", {}, cell)))));
  // The name stands above the region that scrolls, where a narrow window does not cut it.
  return el("div", { class: "named" }, el("p", { class: "tablename", "aria-hidden": "true" }, caption),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      el("table", { class: "plain" }, el("thead", {}, head), el("tbody", {}, ...body))));
}

// Which views there are: place among the columns of `members`, title, what stands under it.
function views(group) {
  const found = [];
  const [max, min, idle, , moves] = group.optimum;
  const span = (least, most) => (least === most ? number(most) : `${number(least)} to ${number(most)}`);
  const line = (most, least, none, more) => [most === null ? null : `${span(least, most)} ${most === 1 ? "queue" : "queues"} each`, none ? `${none} idle` : null, more]
    .filter(Boolean).join(" · ");
  const asMoves = (count) => (count === null || count === undefined ? null : counted(count, "move"));
  found.push({ view: 0, title: "Today", name: group.strategy, under: line(figure(group, "max"), figure(group, "min"), figure(group, "idle_members"), null) });
  if (group.views[1]) {
    const row = group.what_if.find(([system, strategy]) => group.best === strategy && system === group.system);
    found.push({ view: 1, title: "Best available strategy", name: group.best, under: row ? line(row[2], row[3], row[4], asMoves(row[6])) : "" });
  }
  if (group.views[2]) found.push({ view: 2, title: "Optimum", name: null, under: line(max, min, idle, asMoves(moves)) });
  return found;
}

function pictures(group) {
  const shown = views(group);
  const block = el("div", { class: "pictures" });
  const panels = shown.map(({ view, title, name, under }) => {
    const drawing = el("div", { class: "drawing" });
    const head = el("h4", {}, title, name ? el("bdi", { class: "badge" }, name) : null);
    block.append(el("figure", {}, el("figcaption", {}, head, el("p", { class: "quiet" }, under)), drawing));
    return { view, title, drawing };
  });
  block.redraw = () => {
    for (const { view, title, drawing } of panels) {
      const width = Math.max(240, Math.floor(drawing.clientWidth));
      if (drawing.dataset.width === String(width)) continue;
      drawing.dataset.width = width;
      drawing.replaceChildren(picture(group, view, title, width));
    }
  };
  return block;
}

function ownersTable(group) {
  const shown = views(group);
  const heads = [["member", "who"], ...shown.map(({ title }) => [title, "what"])];
  const rows = group.members.map((member) => [member[0], ...shown.map(({ view }) => {
    const runs = parse(member[view + 1]);
    return runs === null ? "unknown" : `${load(runs)}${runs.length ? `: ${words(group, runs)}` : ""}`;
  })]);
  if (group.unowned) rows.push(["no owner", words(group, parse(group.unowned)), ...shown.slice(1).map(() => "")]);
  if (group.twice) rows.push(["owned twice", words(group, parse(group.twice)), ...shown.slice(1).map(() => "")]);
  if (group.gap) rows.push(["not listed", ...shown.map(({ view }) => gapWords(group, view))]);
  return el("details", { class: "fold" }, el("summary", {}, "Ownership as a table"), table("Queues of each member", heads, rows));
}

function findings(group) {
  if (!group.findings.length) return null;
  const remedyOf = ([text, terms, risks]) => el("li", { class: "remedy" }, el("p", {}, text), el("p", { class: "quiet" }, terms),
    risks.length ? el("p", { class: "quiet" }, risks.length > 1 ? "Risks:" : "Risk:") : null,
    risks.length ? el("ul", { class: "risks" }, ...risks.map((risk) => el("li", {}, risk))) : null);
  const items = group.findings.map(([cause, remedies]) => el("li", {}, cause ? el("p", { class: "cause" }, cause) : null,
    remedies.length ? el("ol", { class: remedies.length > 1 ? "remedies" : "remedies single" }, ...remedies.map(remedyOf)) : null));
  return el("section", {}, el("h3", {}, group.findings.some(([, remedies]) => remedies.length) ? "Why, and what to do" : "Why"),
    el("ol", { class: items.length > 1 ? "findings" : "findings single" }, ...items));
}

function score(group) {
  if (group.score === null) return null;
  const after = group.score_after !== null && group.score_after !== group.score ? `, ${number(group.score_after, 0)} expected after the remedy` : "";
  const bar = (value, kind) => (value === null ? null : svg("rect", { class: kind, width: value, height: 6, rx: 3 }));
  return el("p", { class: "meter" }, svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "rail", width: 100, height: 6, rx: 3 }), bar(group.score_after, "then"), bar(group.score, "now")),
  ` Score ${number(group.score, 0)} of 100${after}`);
}

function figures(group) {
  const list = el("dl", { class: "figures" });
  for (const [name, label, what] of payload.figures) {
    const value = figure(group, name);
    if (value === null) continue;
    list.append(el("div", {}, el("dt", {}, label), el("dd", {}, el("b", {}, number(value, 3)), el("span", {}, what))));
  }
  return list.children.length ? el("section", {}, el("h3", {}, "Figures"), list) : null;
}

function perTopic(group) {
  if (group.per_topic.length < 1) return null;
  // A column that tells of no trouble anywhere is no use.
  const telling = (name, value) => (name === "unowned_queues" || name === "double_owned_queues" ? value : value !== null);
  const used = payload.topic_figures.map((name, at) => [TOPIC_HEADS[name], at + 1])
    .filter(([, at]) => group.per_topic.some((row) => telling(payload.topic_figures[at - 1], row[at])));
  const heads = [["topic", "who"], ...used.map(([head]) => [head, "n"])];
  const rows = group.per_topic.map((row) => [row[0], ...used.map(([, at]) => number(row[at]))]);
  return el("section", {}, el("h3", {}, "Topics"), table("Figures of each topic over all members", heads, rows));
}

function whatIf(group) {
  if (!group.what_if.length) return null;
  const heads = [["system", "short"], ["strategy", "who"], ...payload.what_if.map((name) => [WHAT_IF_HEADS[name], "n"])];
  const cells = ([system, strategy, ...values]) => [system ?? "-", strategy ?? "-", ...values.map((value) => number(value, 3))];
  const reach = group.what_if.filter((row) => row.at(-1)).map((row) => cells(row.slice(0, -2)));
  const others = group.what_if.filter((row) => !row.at(-1)).map((row) => cells(row.slice(0, -2)));
  const reasons = new Map();
  for (const row of group.what_if) if (row.at(-2)) reasons.set(row.at(-2), [...(reasons.get(row.at(-2)) ?? []), row[1]]);
  const whys = [...reasons].map(([why, names]) => el("li", {}, "- under ", el("bdi", {}, names.join(", ")), `: ${why}.`));
  const today = ["today", group.strategy ?? "-", ...payload.what_if.slice(0, 4).map((name) => number(figure(group, name), 3)), "-"];
  const hasBest = group.optimum.some((value) => value !== null);
  const all = [today, ...reach, ...(hasBest ? [["optimum", "-", ...group.optimum.map((value) => number(value, 3))]] : [])];
  const isBest = ([system, strategy]) => group.best === strategy && system === group.system;
  const kind = (at) => (at === 0 ? "today" : hasBest && at === all.length - 1 ? "optimum" : isBest(all[at]) ? "best" : null);
  return el("section", {}, el("h3", {}, "What if"), table("The group under strategies that it can be configured to use", heads, all, kind),
    others.length ? table("For comparison: strategies that the group cannot be configured to use", heads, others) : null,
    whys.length ? el("ul", { class: "notes" }, ...whys) : null);
}

function more(group) {
  const list = group.notes.length ? el("ul", { class: "notes" }, ...group.notes.map((line) => el("li", {}, line))) : null;
  const from = group.sources.length ? el("p", { class: "quiet" }, "Read from ", ...group.sources.flatMap((source, at) => [at ? ", " : "", el("bdi", {}, source)])) : null;
  return list || from ? el("section", { class: "more" }, list, from) : null;
}

function detailsOf(group) {
  const drawn = group.members.length > 0 || group.unowned;
  const drawings = drawn ? pictures(group) : null;
  const ownership = drawn ? el("section", {}, el("h3", {}, "Ownership"), legend(group, group.views[1] || group.views[2]), drawings,
    group.remarks.length ? el("ul", { class: "notes" }, ...group.remarks.map((line) => el("li", {}, line))) : null, ownersTable(group))
    : !group.detailed ? null : el("p", { class: "quiet" }, group.mode === "shared" ? "No member is known, so there is nothing to draw." : "Every member reads every queue, so there is no allocation to draw.");
  // The picture comes first: the sentences below it are about what one sees there.
  const box = el("div", { class: "details" },
    ownership,
    findings(group),
    score(group),
    el("div", { class: "columns" }, whatIf(group), perTopic(group)),
    figures(group),
    more(group));
  return { box, redraw: drawings ? drawings.redraw : () => {} };
}
