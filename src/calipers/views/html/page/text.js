// Text and numbers on the page.

// ---------------------------------------------------------------- elements

// The name of SVG, from the page itself: a report names no address.
const SVG = document.getElementById("shapes").namespaceURI;
const SHAPES = new Set(["svg", "g", "line", "rect", "polygon", "path", "circle"]);

// Everything on the page is made here. A string becomes a text node: no text is ever read as markup.
function make(tag, attributes, ...children) {
  const node = SHAPES.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return node;
}

// ---------------------------------------------------------------- text of others

// Characters that steer a line or cannot be seen are shown as escapes, as Python would write them: controls,
// bidirectional overrides, joiners, fillers, spaces other than the usual one.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;
// Where joiners and selectors belong to the writing: inside emoji, and in scripts whose letters join.
const EMOJI = /(\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)$/u;
const JOINING =
  /[\p{sc=Arab}\p{sc=Syrc}\p{sc=Mong}\p{sc=Deva}\p{sc=Beng}\p{sc=Guru}\p{sc=Gujr}\p{sc=Orya}\p{sc=Taml}\p{sc=Telu}\p{sc=Knda}\p{sc=Mlym}\p{sc=Sinh}\p{sc=Khmr}\p{sc=Mymr}]$/u;
const NAMED = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

const belongs = (character, before) =>
  (/[\uFE0F\u200D]/.test(character) && EMOJI.test(before)) || (/[\u200C\u200D]/.test(character) && JOINING.test(before));

function escaped(character) {
  const code = character.codePointAt(0);
  const hex = (digits) => code.toString(16).padStart(digits, "0");
  return NAMED[character] ?? (code < 0x100 ? `\\x${hex(2)}` : code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`);
}

// The text cut into what is shown as it is, and escapes: [text, isEscape] pairs.
function pieces(text, isBlock) {
  const found = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    const [character] = match, at = match.index;
    if (isBlock && (character === "\n" || character === "\t")) continue;
    if (belongs(character, text.slice(Math.max(0, at - 2), at))) continue;
    if (at > from) found.push([text.slice(from, at), false]);
    found.push([escaped(character), true]);
    from = at + character.length;
  }
  if (from < text.length) found.push([text.slice(from), false]);
  return found;
}

const line = (text) => pieces(text, false).map(([part]) => part).join("");

// Text nodes, with each escape in an element of its own; a block keeps its line breaks.
const shown = (text, isBlock = true) =>
  pieces(text, isBlock).map(([part, isEscape]) => (isEscape ? make("span", { class: "escape" }, part) : part));

// A name where it may be broken: after an underscore or a dot, and before a capital.
function breakable(name) {
  const parts = line(name).replace(/[a-z0-9](?=[A-Z])|[_.\-/]/g, "$&\n").split("\n");
  return parts.flatMap((part, i) => (i ? [make("wbr"), part] : [part]));
}

// ---------------------------------------------------------------- numbers, as calipers.views.numbers writes them

const grouped = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 0 });

function whole(value) {
  const rounded = Math.round(value);
  return Math.abs(value % 1) === 0.5 && rounded % 2 ? rounded - 1 : rounded;
}

// Like "%.4g": a tie goes to the even digit, and no zeros trail.
function general(value, digits) {
  const [exact, power] = Math.abs(value).toExponential(60).split("e");
  const kept = exact.slice(0, digits + 1);
  const isTie = /^50*$/.test(exact.slice(digits + 1)) && Number(kept.at(-1)) % 2 === 0;
  const [short, exponent] = isTie ? [kept, power] : Math.abs(value).toExponential(digits - 1).split("e");
  const sign = value < 0 ? "-" : "", e = Number(exponent);
  if (e >= -4 && e < digits) return sign + String(Number(`${short}e${e}`));
  return `${sign}${Number(short)}e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}`;
}

function number(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return grouped(value);
  if (Math.abs(value) >= 1000 && Math.abs(value) < 1e15) return grouped(whole(value));
  return general(value, 4);
}

function seconds(value) {
  if (value === null) return "";
  if (value < 0.9995e-3) return `${whole(value * 1e6)} µs`;
  if (value < 0.9995) return `${general(value * 1e3, 3)} ms`;
  if (value < 59.95) return `${general(value, 3)} s`;
  let minutes = Math.floor(whole(value) / 60), rest = whole(value) % 60;
  if (minutes < 60) return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
  [minutes, rest] = [whole(value / 60) % 60, Math.floor(whole(value / 60) / 60)];
  return minutes ? `${grouped(rest)} h ${minutes} min` : `${grouped(rest)} h`;
}

const plural = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
