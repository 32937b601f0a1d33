// One case in two runs.
import { Page } from "../parts/page";
import type { PageProps } from "../routes";

export default function ComparedCase(_: PageProps<"id">) {
  return <Page title="ComparedCase">{null}</Page>;
}
