// A case of a run.
import { Page } from "../parts/page";
import type { PageProps } from "../routes";

export default function Case(_: PageProps<"run" | "id">) {
  return <Page title="Case">{null}</Page>;
}
