// The cases of a run.
import { Page } from "../parts/page";
import type { PageProps } from "../routes";

export default function Cases(_: PageProps<"run">) {
  return <Page title="Cases">{null}</Page>;
}
