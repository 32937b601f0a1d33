// A question that people answer about the attempts of a run.
import { address } from "../router";
import type { LabelQuestion } from "../wire";

/** The address of the desk at which a question is answered. */
export function labelPage({ run, question, kind, choices }: LabelQuestion): string {
  const scale = kind === "scale" ? `${choices[0]}-${choices[choices.length - 1]}` : null;
  return address(["label"], { run, question, scale, choices: kind === "choices" ? choices.join(",") : null });
}
