// The questions that people answer, and answering them.
import { Page } from "../parts/page";
import type { PageProps } from "../routes";

export default function Label(_: PageProps) {
  return <Page title="Label">{null}</Page>;
}
