// The questions that people answer about attempts; and the desk at which they do.
import type { PageProps } from "../routes";
import { LabelDesk } from "./label-desk";
import { LabelStart } from "./label-start";
import "./label.css";

export default function Label({ place }: PageProps) {
  const { query } = place;
  const run = query.get("run");
  const question = query.get("question");
  return run && question ? <LabelDesk key={`${run}\n${question}`} run={run} question={question} query={query} /> : <LabelStart query={query} />;
}
