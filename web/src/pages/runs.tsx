// The list of runs.
import { call, useAnswer } from "../api";
import type { RunsAnswer } from "../wire";

export default function Runs() {
  const { answer } = useAnswer<RunsAnswer>(call("/runs"));
  return <main>{answer?.rows.map((row) => <p key={row.id}>{row.name}</p>)}</main>;
}
