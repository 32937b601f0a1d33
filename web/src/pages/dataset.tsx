// The trend of a dataset over commits.
import { Page } from "../parts/page";
import type { PageProps } from "../routes";

export default function Dataset(_: PageProps<"dataset">) {
  return <Page title="Dataset">{null}</Page>;
}
