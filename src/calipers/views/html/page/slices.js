// The attempts cut by a field that the reader chooses: a row for each value. The numbers and their texts come with the data.

const GLYPH = { ...LOOKS.glyph, width: 96 };

// ---------------------------------------------------------------- drawn numbers, as the viewer draws them

const glyph = (tone, ...marks) =>
  make("svg", { class: `glyph ${tone}`, viewBox: `0 0 ${GLYPH.width} ${GLYPH.height}`, width: GLYPH.width, height: GLYPH.height, "aria-hidden": "true" }, marks);

const MIDDLE = GLYPH.height / 2;
const track = () => make("line", { class: "glyph-track", x1: GLYPH.edge, x2: GLYPH.width - GLYPH.edge, y1: MIDDLE, y2: MIDDLE });
const bar = (from, to) =>
  make("rect", { class: "glyph-bar", x: from, y: MIDDLE - GLYPH.bar / 2, width: Math.max(to - from, 1), height: GLYPH.bar, rx: 1 });

// A value and its interval on a scale: hollow where it is over few cases.
function estimateGlyph(numbers, range) {
  if (!range || !(range[1] > range[0])) return null;
  const { edge, tick, width } = GLYPH, [from, to] = range, cases = numbers.at(-1), few = cases < GLYPH.few;
  const x = (at) => edge + ((Math.min(Math.max(at, from), to) - from) / (to - from)) * (width - 2 * edge);
  return glyph("", track(),
    make("path", { class: "glyph-ends", d: `M${edge} ${MIDDLE - tick / 2}v${tick}M${width - edge} ${MIDDLE - tick / 2}v${tick}` }),
    numbers.length > 2 && bar(x(numbers[1]), x(numbers[2])),
    make("circle", { class: few ? "glyph-dot glyph-dot-few" : "glyph-dot", cx: x(numbers[0]), cy: MIDDLE, r: few ? GLYPH.fewDot : GLYPH.dot }));
}

// A difference and its interval around 0: grey unless it differs for sure, and for scores, of which more may be better or worse.
function differenceGlyph([value, low, high], extent, isRate, isSure) {
  const { edge, width } = GLYPH;
  const x = (at) => width / 2 + (Math.min(Math.max(at / extent, -1), 1) * (width - 2 * edge)) / 2;
  const unclear = !isSure || low === undefined || (low <= 0 && high >= 0);
  const dot = unclear ? `${MIDDLE - 3.4}l3.4 3.4-3.4 3.4-3.4-3.4z` : value > 0 ? `${MIDDLE - 3.6}l3.6 6.4h-7.2z` : `${MIDDLE + 3.6}l3.6-6.4h-7.2z`;
  return glyph(`glyph-${unclear || !isRate ? "unclear" : value > 0 ? "better" : "worse"}`, track(),
    make("line", { class: "glyph-zero", x1: width / 2, x2: width / 2, y1: 1, y2: GLYPH.height - 1 }),
    low !== undefined && bar(x(low), x(high)),
    make("path", { class: "glyph-dot", d: `M${x(value)} ${dot}` }));
}

// ---------------------------------------------------------------- the table

const filled = (text, parts) => text.replace(/\{(\w+)\}/g, (_, name) => parts[name]);

function sliceRow(row, field, at, table, isRate) {
  const says = LOOKS.slices;
  const [place, value, ends, estimate, difference, differenceEnds, differs, chance, isSure] = row;
  const [name, cases] = field.values[place];
  return make("tr", null,
    make("th", { scope: "row" }, make("a", { href: `#find-s${at}.${place}` },
      name === null ? make("i", null, says.noValue) : make("bdi", null, name === "" ? "\"\"" : shown(name, false)))),
    make("td", { class: "number", "data-label": says.cases }, grouped(cases)),
    make("td", { class: "drawn", "data-label": isRate ? says.rate : says.mean }, estimate && [
      estimateGlyph(estimate, table.range), make("span", { class: "value" }, value), make("span", { class: "ends" }, ends)]),
    make("td", { class: "drawn", "data-label": says.difference }, differs && [
      differenceGlyph(differs, table.extent, isRate, isSure), make("span", { class: "value" }, difference, isRate && make("span", { class: "unseen" }, says.points)),
      make("span", { class: "ends" }, differenceEnds)]),
    make("td", { class: "chance" }, chance && [make(isSure ? "strong" : "span", null, isSure ? says.differs : says.unclear), make("span", { class: "quiet" }, ` ${chance}`)]));
}

function sliceTable(slices, at, measure) {
  const says = LOOKS.slices, field = slices.fields[at], isRate = slices.measures[measure].rate;
  const same = field.tables[measure], table = typeof same === "number" ? field.tables[same] : same;
  const head = (text, kind, title) => make("th", { scope: "col", class: kind, title }, text);
  return [
    make("div", { class: "scroller" }, make("table", { class: "summary slices" },
      make("caption", { class: "unseen" }, filled(says.table, { field: line(field.by) })),
      make("thead", null, make("tr", null, head(says.value), head(says.cases, "number"), head(isRate ? says.rate : says.mean),
        head(says.difference, null, says.differenceAbout), head(says.p, null, says.pAbout))),
      make("tbody", null, table.rows.map((row) => sliceRow(row, field, at, table, isRate))))),
    make("p", { class: "note" }, [
      filled(says.correction, { slices: table.looked_at, name: slices.correction }),
      field.left_out && filled(says.leftOut, { values: field.left_out }),
    ].filter(Boolean).join(" · ")),
  ];
}

// The section with its choices: the field, and what is averaged.
function showSlices(slices) {
  const says = LOOKS.slices, holder = make("div");
  const choice = (names) => make("select", { change: () => draw() }, names.map((name, i) => make("option", { value: String(i) }, line(name))));
  const by = choice(slices.fields.map((field) => field.by));
  const of = choice(slices.measures.map((measure) => measure.name ?? says.passRate));
  const draw = () => holder.replaceChildren(...sliceTable(slices, Number(by.value), Number(of.value)));
  draw();
  document.getElementById("slices").append(
    make("h2", null, make("span", { id: "slices-title" }, says.title), make("span", { class: "pickers" },
      make("label", null, `${says.by} `, by), slices.measures.length > 1 && make("label", null, ` ${says.of} `, of))),
    holder, ...(slices.left_out ? [make("p", { class: "note", dir: "auto" }, shown(slices.left_out))] : []));
}

// A group of failures or a slice, as a link names it: g0 is the first group, s1.2 the third value of the second field.
function termNamed(name) {
  const [, kind, first, second] = /^([gs])(\d+)(?:\.(\d+))?$/.exec(name) ?? [];
  if (kind === "g" && DATA.groups[first]) {
    const of = new Set(DATA.groups[first].of);
    return { text: DATA.groups[first].text, has: (position) => of.has(position) };
  }
  const field = kind === "s" && DATA.slices?.fields[first], place = Number(second);
  if (!field?.values[place]) return null;
  const has = field.sets.map((places) => places.includes(place));
  return { text: field.values[place][2], has: (position) => has[field.of[position]] };
}
