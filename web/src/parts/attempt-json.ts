// A case and one attempt at it as one JSON text. What the server wrote goes in as it is, so that no number changes on the way.
import type { AttemptView, CaseAnswer, ShownValue } from "../wire";
import { laidOut } from "./json-text";

function text(value: ShownValue): string {
  if (value.kind === "missing") return "null";
  if (value.href !== null) return JSON.stringify({ length: value.length, href: value.href });
  return value.kind === "json" ? value.text : JSON.stringify(value.text);
}

function object(fields: [string, string | null][]): string {
  return `{${fields.flatMap(([name, value]) => (value === null ? [] : [`${JSON.stringify(name)}:${value}`])).join(",")}}`;
}

export function attemptJson(answer: CaseAnswer, attempt: AttemptView): string {
  const results = attempt.judgements.map(({ name, evaluator, kind, mark, value, reason, traceback, details }) =>
    object([
      ["name", JSON.stringify(name)],
      ["evaluator", JSON.stringify(evaluator)],
      ["kind", JSON.stringify(kind)],
      ["mark", JSON.stringify(mark)],
      ["value", JSON.stringify(value)],
      ["reason", reason ? JSON.stringify(reason) : null],
      ["traceback", traceback ? JSON.stringify(traceback) : null],
      ["details", details ? text(details) : null],
    ]),
  );
  const { error, error_type, metrics, tokens_in, tokens_out } = attempt;
  return laidOut(
    object([
      ["run", JSON.stringify(answer.run.id)],
      ["case", JSON.stringify(answer.name)],
      ["inputs", text(answer.input)],
      ["expected_output", text(answer.expected)],
      ["expected_calls", answer.expected_calls.kind === "missing" ? null : text(answer.expected_calls)],
      ["metadata", text(answer.metadata)],
      ["position", String(attempt.position)],
      ["repeat", String(attempt.repeat)],
      ["output", text(attempt.output)],
      ["error", error === null ? null : JSON.stringify({ type: error_type, message: error, traceback: attempt.traceback })],
      ["seconds", JSON.stringify(attempt.seconds)],
      ["cost", JSON.stringify(attempt.cost?.dollars ?? null)],
      ["tokens", JSON.stringify({ in: tokens_in, out: tokens_out })],
      ["tries", String(attempt.tries)],
      ["metrics", JSON.stringify(Object.fromEntries(metrics))],
      ["attributes", object(attempt.attributes.map(([name, value]) => [name, text(value)]))],
      ["results", `[${results.join(",")}]`],
    ]),
  );
}
