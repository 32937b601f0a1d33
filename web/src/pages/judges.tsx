// The judges of the store, and how far to believe them.
import type { PageProps } from "../routes";
import { JudgeList } from "./judge-list";
import { JudgePage } from "./judge-page";
import "./judges.css";

export default function Judges({ place, id }: PageProps & { id?: string }) {
  return id === undefined ? <JudgeList /> : <JudgePage id={id} query={place.query} />;
}
