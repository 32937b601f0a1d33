// A run as a whole.
import { Page } from "../parts/page";
import type { PageProps } from "../routes";

export default function Run(_: PageProps<"run">) {
  return <Page title="Run">{null}</Page>;
}
