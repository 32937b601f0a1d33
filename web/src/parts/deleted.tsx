// A run that was deleted while it is looked at: what is on the page stays, and is said to be all that is left.
import { useEffect, useState } from "preact/hooks";
import { Refused } from "../api";
import { useRunsChanged } from "../events";
import { TEXTS } from "../texts";
import { Trouble } from "./page";

export function Deleted({ runs }: { runs: string[] }) {
  const [isGone, setGone] = useState(false);
  useRunsChanged(({ gone }) => gone.some((run) => runs.includes(run)) && setGone(true));
  useEffect(() => setGone(false), [runs.join()]);
  return isGone ? <Trouble error={new Refused({ code: "gone", message: TEXTS.app.deleted, at: null }, 410)} /> : null;
}
