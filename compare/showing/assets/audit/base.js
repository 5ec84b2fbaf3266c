// The page's data.

const payload = JSON.parse(document.getElementById("data").textContent);
const groups = payload.groups;

// Sentences stand in the data once; a group's parts that were left out are empty.
const textAt = (place) => payload.texts[place];
for (const group of groups) {
  group.detailed = group.members !== undefined;
  if (!group.detailed) Object.assign(group, { topics: [], brokers: [], members: [], views: [true, false, false], optimum: [], what_if: [], per_topic: [], remarks: [] });
  group.findings = group.findings.map(([cause, remedies]) => [textAt(cause), remedies.map(([text, terms, risks]) => [textAt(text), textAt(terms), risks.map(textAt)])]);
  group.notes = group.notes.map(textAt);
  group.sources = group.sources.map(textAt);
}
const figureAt = Object.fromEntries(payload.figures.map(([name], at) => [name, at]));

const figure = (group, name) => group.figures[figureAt[name]] ?? null;

// "0:0-3,7;1/2:5" to [{topic: 0, broker: 0, from: 0, to: 3}, ...]; "0*12" to {topic: 0, count: 12}; null stays null.
function parse(text) {
  if (text === null || text === undefined) return null;
  const runs = [];
  for (const part of text.split(";").filter(Boolean)) {
    const bare = part.match(/^(\d+)\*(\d+)$/);
    if (bare) {
      runs.push({ topic: Number(bare[1]), count: Number(bare[2]) });
      continue;
    }
    const [where, ranges] = part.split(":");
    const [topic, broker] = where.split("/");
    for (const range of ranges.split(",")) {
      const [from, to] = range.split("-").map(Number);
      runs.push({ topic: Number(topic), broker: Number(broker ?? 0), from, to: to ?? from, count: (to ?? from) - from + 1 });
    }
  }
  return runs;
}

const load = (runs) => runs.reduce((sum, run) => sum + run.count, 0);

// Every queue for itself: {topic, broker, number, key}; number and key are null where only a count is known.
function queuesOf(runs) {
  const queues = [];
  for (const run of runs) {
    for (let at = 0; at < run.count; at += 1) {
      const number = run.from === undefined ? null : run.from + at;
      queues.push({ ...run, number, key: number === null ? null : `${run.topic}/${run.broker}:${number}` });
    }
  }
  return queues;
}

// "orders 0-3, 7; pay broker-b 5"
function words(group, runs) {
  const parts = [];
  let before = null;
  for (const run of runs) {
    const broker = run.from === undefined ? "" : group.brokers[run.broker];
    const where = group.topics[run.topic] + (broker ? ` ${broker}` : "");
    const which = run.from === undefined ? counted(run.count, "queue") : run.from === run.to ? `${run.from}` : `${run.from}–${run.to}`;
    if (where === before) parts[parts.length - 1] += `, ${which}`;
    else parts.push(`${where} ${which}`);
    before = where;
  }
  return parts.join("; ");
}

// Names short enough to stand beside a bar, and still different: the random tail of an id shrinks to what is needed.
function shortNames(ids) {
  const cut = (id, tail) => {
    const found = id.match(/^(.+)-([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$/);
    return found ? found[1] + (tail ? `-${found[2].slice(0, tail)}` : "") : id;
  };
  for (const tail of [0, 4, 8]) {
    const names = ids.map((id) => cut(id, tail));
    if (new Set(names).size === ids.length) return names;
  }
  return ids;
}

const ruler = document.createElement("canvas").getContext("2d");

// The name in so many pixels of a label's font. The end of a name tells members apart more often than its middle.
function fitted(name, pixels) {
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const width = (text) => ruler.measureText(text).width;
  if (width(name) <= pixels) return name;
  const letters = Array.from(name);
  let most = Math.min(letters.length - 1, 80);
  const cut = () => {
    const tail = Math.floor(most * 0.45);
    return `${letters.slice(0, most - tail).join("")}…${letters.slice(letters.length - tail).join("")}`;
  };
  while (most > 2 && width(cut()) > pixels) most -= 1;
  return cut();
}
