// The judges of the store, and how far to believe them.
import { Page } from "../parts/page";
import type { PageProps } from "../routes";

export default function Judges(_: PageProps) {
  return <Page title="Judges">{null}</Page>;
}
