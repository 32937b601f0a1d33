// Numbers and times as people read them: the same texts that `calipers show` makes of them (`stats/number_text.py`), with a true minus sign.

/** With so many decimals, halves to the even digit, as Python rounds. */
export function fixed(value: number, decimals: number): string {
  const size = Math.abs(value);
  let text = size.toFixed(decimals);
  const tail = size < 1e21 && size.toFixed(Math.min(decimals + 30, 100)).slice(-Math.min(30, 100 - decimals));
  if (tail && /^50*$/.test(tail)) {
    const lower = (Number(text) - 10 ** -decimals).toFixed(decimals);
    const lastDigit = Number(text[text.length - 1]);
    if (lastDigit % 2) text = lower;
  }
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

function grouped(text: string): string {
  const [whole = "", part] = text.split(".");
  const spaced = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return part === undefined ? spaced : `${spaced}.${part}`;
}

/** To so many digits, without spare zeros. */
function general(value: number, digits: number): string {
  if (value === 0) return "0";
  const [mantissa = "", exponent = "0"] = value.toExponential(digits - 1).split("e");
  const power = Number(exponent);
  if (power < -4 || power >= digits) return minus(`${stripped(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`);
  return stripped(fixed(value, Math.max(digits - 1 - power, 0)));
}

function stripped(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export function minus(text: string): string {
  return text.replaceAll("-", "−");
}

export function count(value: number): string {
  return minus(grouped(String(Math.round(value))));
}

/** `1 case`, `1,200 cases`. */
export function plural(value: number, noun: string, nouns = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : nouns}`;
}

const PERCENT_DECIMALS = 5;

/** A rate as a percentage; one that is nearly 0 or 1 never becomes 0 % or 100 %. */
export function percent(rate: number, unit = true): string {
  const end = unit ? " %" : "";
  let decimals = 1;
  let shown = fixed(100 * rate, decimals);
  while (rate > 0 && rate < 1 && (Number(shown) === 0 || Number(shown) === 100)) {
    if (decimals === PERCENT_DECIMALS) {
      const near = 10 ** -decimals;
      return (rate < 0.5 ? `<${near.toFixed(decimals)}` : `>${(100 - near).toFixed(decimals)}`) + end;
    }
    decimals += 1;
    shown = fixed(100 * rate, decimals);
  }
  return shown + end;
}

/** A number of unknown kind, to about four digits; whole numbers in full. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return minus(grouped(String(value)));
  if (Math.abs(value) >= 1000 && Math.abs(value) < 1e15) return minus(grouped(fixed(value, 0)));
  return general(value, 4);
}

export function dollars(amount: number): string {
  const rounded = Number(amount.toPrecision(12));
  if (rounded >= 1 || rounded <= 0) return `${rounded < 0 ? "−" : ""}$${grouped(fixed(Math.abs(rounded), 2))}`;
  const decimals = Math.min(2 - Math.floor(Math.log10(rounded)), 100);
  const [whole, part = ""] = stripped(fixed(rounded, decimals)).split(".");
  return `$${whole}.${part.padEnd(2, "0")}`;
}

/** A time with a unit that keeps it short: `340 ms`, `1.24 s`, `2 min 5 s`, `1 h 12 min`. */
export function seconds(value: number): string {
  if (!Number.isFinite(value)) return `${value} s`;
  if (value < 0.9995e-3) return `${fixed(value * 1e6, 0)} µs`;
  if (value < 0.9995) return `${general(value * 1e3, 3)} ms`;
  if (value < 59.95) return `${general(value, 3)} s`;
  const whole = Math.round(value);
  if (whole < 3600) return whole % 60 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${whole / 60} min`;
  const minutes = Math.round(value / 60);
  return minutes % 60 ? `${count(Math.floor(minutes / 60))} h ${minutes % 60} min` : `${count(minutes / 60)} h`;
}

/** How large something is: `34 kB`. */
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  return value < 1e6 ? `${general(value / 1e3, 2)} kB` : `${value < 1e8 ? general(value / 1e6, 2) : count(value / 1e6)} MB`;
}

export interface Ends {
  low: number;
  high: number;
}

/** The decimals that a mean deserves: enough to tell the ends of its interval apart. `null`: it is written with an exponent. */
function decimalsOf(value: number, ends: Ends): number | null {
  const largest = Math.max(Math.abs(value), Math.abs(ends.low), Math.abs(ends.high));
  if (largest !== 0 && !(largest >= 1e-6 && largest < 1e12)) return null;
  let decimals = largest >= 1 ? 3 - Math.floor(Math.log10(largest)) : 3;
  const width = ends.high - ends.low;
  if (width > 0) decimals = Math.max(decimals, 1 - Math.floor(Math.log10(width)));
  return Math.min(Math.max(decimals, 0), 9);
}

/** A mean and the two ends of its interval, all with the same decimals. */
export function meanTexts(value: number, ends: Ends): [string, string, string] {
  const decimals = decimalsOf(value, ends);
  const text = (x: number) => (decimals === null ? minus(x.toExponential(3)) : signed(grouped(fixed(Math.abs(x), decimals)), x));
  return [text(value), text(ends.low), text(ends.high)];
}

function signed(text: string, value: number): string {
  return value < 0 && /[1-9]/.test(text) ? `−${text}` : text;
}

/** What a difference says: `+2.4`, `−0.31`, `0`. */
export function difference(value: number, decimals: number): string {
  const text = fixed(value, decimals);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

// ---------------------------------------------------------------------- times

const EXACT = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
});
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DAY_AND_YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

export function exactTime(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : EXACT.format(time);
}

/** `12 min ago`, `yesterday`, `3 Nov`. */
export function ago(iso: string, now = Date.now()): string {
  const time = new Date(iso);
  const past = (now - time.getTime()) / 1000;
  if (Number.isNaN(past)) return "–";
  if (past < 45 && past > -45) return "just now";
  if (past > 0 && past < 3600) return `${Math.max(Math.round(past / 60), 1)} min ago`;
  if (past > 0 && past < 24 * 3600) return `${Math.round(past / 3600)} h ago`;
  if (past > 0 && past < 7 * 24 * 3600) return Math.round(past / 86400) === 1 ? "yesterday" : `${Math.round(past / 86400)} days ago`;
  return time.getFullYear() === new Date(now).getFullYear() ? DAY.format(time) : DAY_AND_YEAR.format(time);
}
