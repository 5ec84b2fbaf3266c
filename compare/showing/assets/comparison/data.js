// The page's data, decoded when it is first needed. Times are milliseconds.

const payload = JSON.parse(document.getElementById("data").textContent);
const COLOURS = 7;

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// "1:05", with as many decimals as steps of so many milliseconds need.
function clock(at, step = 1000) {
  const decimals = step >= 1000 ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3;
  const unit = 10 ** (3 - decimals);
  const rounded = Math.round(at / unit) * unit;
  const minutes = Math.floor(rounded / 60000);
  const seconds = ((rounded - minutes * 60000) / 1000).toFixed(decimals);
  return `${minutes}:${seconds.padStart(decimals ? decimals + 3 : 2, "0")}`;
}

function lasting(ms) {
  if (ms < 1000) return `${Number(ms.toPrecision(3))} ms`;
  if (ms < 120000) return `${Number((ms / 1000).toPrecision(3))} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

const rowName = ([topic, broker, number]) => `${topic}-${broker ? `${broker}-` : ""}${number}`;

// Per row: who held the queue when, when nobody did and when several did.
function rowsOf(variant, end) {
  if (variant.decoded) return variant.decoded;
  variant.decoded = variant.held.map((flat, at) => {
    const held = [];
    let last = 0;
    for (let n = 0; n < flat.length; n += 3) {
      const since = last + flat[n + 1];
      last = flat[n + 2] < 0 ? end : since + flat[n + 2];
      held.push({ member: flat[n], since, until: last });
    }
    // Where everybody reads everything, a row is what one member reads.
    if (variant.alone.includes(at)) return { held, gaps: [], doubles: [] };
    return { held, ...faults(held, variant.lives[at] ?? [0, end], end) };
  });
  return variant.decoded;
}

// A sweep over the stretches of one queue: gaps after its first owner, while it exists, and times with several owners.
function faults(held, lives, end) {
  const gaps = [];
  const doubles = [];
  const gap = (since, until) => {
    for (let n = 0; n < lives.length; n += 2) {
      const from = Math.max(since, lives[n]);
      const to = Math.min(until, lives[n + 1]);
      if (to > from) gaps.push({ since: from, until: to });
    }
  };
  const marks = [...new Set(held.flatMap((each) => [each.since, each.until]))].sort((a, b) => a - b);
  let active = [];
  let next = 0;
  let place = 0;
  const byStart = [...held].sort((a, b) => a.since - b.since);
  for (; place < marks.length; place += 1) {
    const now = marks[place];
    active = active.filter((each) => each.until > now);
    while (next < byStart.length && byStart[next].since <= now) {
      if (byStart[next].until > now) active.push(byStart[next]);
      next += 1;
    }
    const until = marks[place + 1] ?? end;
    if (until <= now) continue;
    if (active.length === 0) gap(now, until);
    if (active.length > 1) {
      const members = active.map((each) => each.member);
      const before = doubles[doubles.length - 1];
      if (before && before.until === now) {
        before.until = until;
        before.members = [...new Set([...before.members, ...members])];
      } else doubles.push({ since: now, until, members });
    }
  }
  return { gaps, doubles };
}

const at = (row, now) => row.held.filter((each) => each.since <= now && now < each.until).map((each) => each.member);

// "c1: orders 0, 2" for every member, at one time.
function ownedAt(variant, rows, now) {
  const owned = variant.members.map(() => []);
  rows.forEach((row, number) => at(row, now).forEach((member) => owned[member].push(number)));
  return owned;
}

const colour = (member) => `t${member % COLOURS}`;
// A colour that comes again has another pattern.
const pattern = (member) => (member < COLOURS ? 0 : 1 + (Math.floor(member / COLOURS) - 1) % 6);

function swatch(member) {
  const box = svg("svg", { width: 16, height: 12, "aria-hidden": true }, svg("rect", { class: colour(member), width: 16, height: 12, rx: 2 }));
  if (pattern(member)) box.append(svg("rect", { fill: `url(#pt${pattern(member)})`, width: 16, height: 12, rx: 2 }));
  return box;
}
