// Two texts side by side: which lines differ, and which words of them.

const LARGEST = 4_000_000; // cells of the table of common subsequences; beyond it, the differing middle is one change
const CONTEXT = 3; // equal lines shown around a change

// The steps from one list to another, in order: ["=", items], ["-", items] or ["+", items].
function steps(from, to) {
  let start = 0, fromEnd = from.length, toEnd = to.length;
  while (start < fromEnd && start < toEnd && from[start] === to[start]) start++;
  while (fromEnd > start && toEnd > start && from[fromEnd - 1] === to[toEnd - 1]) fromEnd--, toEnd--;
  const found = [];
  const add = (kind, item) => {
    if (found.length && found.at(-1)[0] === kind) found.at(-1)[1].push(item);
    else found.push([kind, [item]]);
  };
  for (let i = 0; i < start; i++) add("=", from[i]);
  middle(from.slice(start, fromEnd), to.slice(start, toEnd), add);
  for (let i = fromEnd; i < from.length; i++) add("=", from[i]);
  return found;
}

function middle(from, to, add) {
  const width = to.length + 1;
  if (from.length * to.length > LARGEST) {
    from.forEach((item) => add("-", item));
    to.forEach((item) => add("+", item));
    return;
  }
  // common[i][j]: the longest common subsequence of what follows i and j.
  const common = new Uint32Array((from.length + 1) * width);
  for (let i = from.length - 1; i >= 0; i--)
    for (let j = to.length - 1; j >= 0; j--)
      common[i * width + j] =
        from[i] === to[j]
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
  let i = 0, j = 0;
  while (i < from.length || j < to.length) {
    if (i < from.length && j < to.length && from[i] === to[j]) add("=", from[i]), i++, j++;
    else if (j === to.length || (i < from.length && common[(i + 1) * width + j] >= common[i * width + j + 1]))
      add("-", from[i++]);
    else add("+", to[j++]);
  }
}

// Words with the space behind them: matched alone, spaces would pair up across words that have nothing in common.
const words = (text) => text.match(/[\p{L}\p{M}\p{N}_]+\s*|\s+|[^]/gu) ?? [];

// Both texts with the words that only they have marked; unmarked where they have too little in common to compare.
function marked(expected, output) {
  const found = steps(words(expected), words(output));
  const size = (kind) => found.filter(([k]) => k === kind).reduce((sum, [, items]) => sum + items.join("").length, 0);
  const tells = size("=") * 3 >= Math.min(expected.length, output.length);
  const side = (own, tag) =>
    found.filter(([kind]) => kind === "=" || kind === own).flatMap(([kind, items]) => {
      const text = shown(items.join(""));
      return kind === own && tells ? [make(tag, null, text)] : text;
    });
  return [side("-", "del"), side("+", "ins")];
}

// The lines of both, as rows: "=" equal, "-" expected only, "+" in the output only.
function lineSteps(expected, output) {
  const found = [];
  const all = steps(expected.split("\n"), output.split("\n"));
  for (let at = 0; at < all.length; at++) {
    const [kind, items] = all[at];
    const next = all[at + 1];
    if (kind === "-" && next?.[0] === "+") {
      const pairs = items.map((item, i) => (i < next[1].length ? marked(item, next[1][i]) : [shown(item), null]));
      found.push(...pairs.map(([removed]) => ["-", removed]));
      found.push(...next[1].map((item, i) => ["+", pairs[i]?.[1] ?? shown(item)]));
      at++;
    } else found.push(...items.map((item) => [kind, shown(item)]));
  }
  return found;
}

const SIGNS = { "=": [" ", "equal"], "-": ["−", "expected"], "+": ["+", "output"] };

function diffView(expected, output) {
  const view = make("pre", { class: "diff", dir: "auto" });
  const draw = ([kind, content]) =>
    make("span", { class: `row ${SIGNS[kind][1]}` },
      make("span", { class: "sign", "aria-hidden": "true" }, SIGNS[kind][0]),
      make("span", { class: "content" }, content, "\n"));
  const all = lineSteps(expected, output);
  const near = (at) => all.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(([kind]) => kind !== "=");
  for (let at = 0; at < all.length; ) {
    let end = at;
    while (end < all.length && !near(end)) end++;
    if (end - at > 2) {
      const hidden = all.slice(at, end);
      const button = make("button", { type: "button", class: "fold", click: () => button.replaceWith(...hidden.map(draw)) },
        `⋯ ${plural(hidden.length, "equal line")}`);
      view.append(button);
      at = end;
    } else view.append(draw(all[at++]));
  }
  return view;
}
