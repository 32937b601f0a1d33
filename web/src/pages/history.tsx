// A case over all runs of its dataset.
import { Page } from "../parts/page";
import type { PageProps } from "../routes";

export default function History(_: PageProps<"id">) {
  return <Page title="History">{null}</Page>;
}
