// Every English text of the page, by where it stands. Pages take their words from here and from the server, and have none of their own.
export const TEXTS = {
  app: {
    name: "Calipers",
    runs: "Runs",
    label: "Label",
    judges: "Judges",
    skip: "Skip to the content",
    notFound: "There is no such page.",
    toRuns: "Go to the runs",
    loading: "Loading",
    readOnly: "read-only",
  },
  marks: { pass: "passed", partial: "partly passed", fail: "failed", error: "error", skip: "not judged" },
  runs: {},
  run: {},
  cases: {},
  case: {},
  trace: {},
  compare: {},
  label: {},
  judges: {},
  keys: {},
} as const;
