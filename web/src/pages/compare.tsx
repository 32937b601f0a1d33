// Two or more runs side by side.
import { Page } from "../parts/page";
import type { PageProps } from "../routes";

export default function Compare(_: PageProps) {
  return <Page title="Compare">{null}</Page>;
}
