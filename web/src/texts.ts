// Every English text of the page, by where it stands. Pages take their words from here and from the server, and have none of their own.
export const TEXTS = {
  // ------------------------------------------------------------ the frame
  app: {
    name: "Calipers",
    runs: "Runs",
    label: "Label",
    judges: "Judges",
    pages: "Pages",
    where: "Where you are",
    skip: "Skip to the content",
    notFound: "There is no such page.",
    toRuns: "Go to the runs",
    loading: "Loading",
    readOnly: "read-only",
    readOnlyTitle: "This viewer was started to look only: nothing can be labelled or changed.",
    store: "The store whose runs are shown",
    help: "Keys",
    helpTitle: "Show all keys",
    toDark: "Change to dark colours",
    toLight: "Change to light colours",
    close: "Close",
    copied: "The address of this page was copied.",
    notCopied: "The address could not be copied: the browser allows that on a secure page only.",
    live: "live",
    liveTitle: "New results appear by themselves.",
    polling: "checking",
    pollingTitle: "This browser cannot keep a stream open here: the page asks for news every few seconds.",
    lost: "no connection",
    broken: "This page could not be shown.",
    reload: "Load the page again",
    missing: "–",
  },

  // ------------------------------------------------------------ what the server refused
  trouble: {
    offline: "The server cannot be reached.",
    offlineWay: "Is `calipers view` still running? The page asks again by itself.",
    gone: "This is gone.",
    not_found: "Not found.",
    bad_filter: "The filter cannot be read.",
    forbidden: "This is not allowed.",
    busy: "The store is busy.",
    read_only: "This viewer only looks.",
    conflict: "Someone else changed this.",
    other: "The server could not answer.",
    again: "Try again",
  },

  // ------------------------------------------------------------ verdicts
  marks: { pass: "passed", partial: "partly passed", fail: "failed", error: "error", skip: "not judged" },

  // ------------------------------------------------------------ numbers
  numbers: {
    interval: "interval",
    confidence: (percent: string, low: string, high: string) => `${percent} interval ${low} to ${high}`,
    units: (count: string) => `n = ${count}`,
    noInterval: "no interval",
  },

  // ------------------------------------------------------------ tables
  tables: {
    csv: "CSV",
    csvTitle: "Download this table as a CSV file",
    sortedUp: "sorted, smallest first",
    sortedDown: "sorted, largest first",
    sortBy: (title: string) => `Sort by ${title}`,
    empty: "Nothing here.",
    rows: (from: string, to: string, of: string) => `${from}–${to} of ${of}`,
    previous: "Previous",
    next: "Next",
    plain: "Plain pages",
    plainTitle: "Show a hundred rows a page instead of one long table: for screen readers, and to search the page with the browser.",
    open: "Open",
    down: "next row",
    up: "previous row",
    enter: "open the row",
    first: "first row",
    last: "last row",
    more: "Show more",
    peek: "look at the row beside the table",
    nextFailure: "next failure",
    previousFailure: "previous failure",
    mark: "mark for comparing",
  },

  // ------------------------------------------------------------ the filter bar
  filter: {
    label: "Filter",
    placeholder: "Filter: verdict:fail tag:refund cost:>0.01 \"late\"",
    clear: "Clear the filter",
    remove: (term: string) => `Remove ${term}`,
    terms: "Terms of the filter",
    suggestions: "Ways to go on",
    focus: "filter",
    facets: "Narrow down",
    leftOut: (count: string) => `${count} more values`,
    timedOut: "Not all were counted in time.",
  },

  // ------------------------------------------------------------ charts
  charts: {
    svg: "SVG",
    svgTitle: "Download this chart as an SVG file",
    table: "Table",
    tableTitle: "Show the numbers of this chart as a table",
  },

  // ------------------------------------------------------------ the list of runs
  runs: {
    title: "Runs",
    placeholder: "Filter: refund dataset:support state:running rate:<0.9 cost:>1",
    counted: (runs: string, datasets: string) => `${runs} of ${datasets}`,
    columns: {
      name: "Run",
      rate: "Passed",
      rateAbout: "Cases that passed, with the interval of the rate",
      gate: "Gate",
      cases: "Cases",
      failures: "Not finished",
      failuresAbout: "Attempts whose task raised an error, timed out or was cut off",
      cost: "Cost",
      time: "Time",
      timeAbout: "How long the run took, or has taken",
      task: "Task",
      commit: "Commit",
      started: "Started",
    },
    states: { running: "running", finished: "finished", interrupted: "interrupted", failed: "broke off", abandoned: "abandoned" },
    incomplete: "incomplete",
    damaged: "damaged",
    dirty: "with changes that were not committed",
    progress: (done: string, of: string) => `${done} of ${of} attempts`,
    attempts: (done: string) => `${done} attempts`,
    gateTitle: (policy: string) => `Gate ${policy}`,
    undecided: "undecided",
    repeated: (times: string) => `each case ${times} times`,
    mark: (name: string) => `Mark ${name} for comparing`,
    unmark: (name: string) => `Do not compare ${name}`,
    marked: "Marked for comparing",
    markHint: "Mark two runs to compare them.",
    markOneMore: "Mark one more to compare.",
    compare: "Compare",
    compareKey: "compare what is marked",
    trends: "Trend of",
    noneFound: "No run meets the filter.",
    fresh: (changes: string) => `${changes} to the list: show`,
    emptyTitle: "There is no run in this store yet.",
    emptyWay: "Run an evaluation with this store, and it appears here while it is still going on:",
    emptyCommand: "calipers run cases.yaml --task agent.py:ask",
    emptyImport: "Or bring in recorded traces:",
    emptyImportCommand: "calipers import traces.jsonl",
  },

  // ------------------------------------------------------------ the trend of a dataset
  dataset: {
    title: (name: string) => `Dataset ${name}`,
  },

  // ------------------------------------------------------------ a run
  run: {
    title: "Run",
  },

  // ------------------------------------------------------------ the cases of a run
  cases: {
    title: "Cases",
  },

  // ------------------------------------------------------------ text of others
  plain: {
    invisible: "a character that cannot be seen",
    marks: (count: number) => `+${count} marks`,
    tooManyMarks: "marks stacked on one letter",
    hidden: (letters: string) => `hidden text: ${letters}`,
    hiddenAbout: "letters that cannot be seen, but that a model reads",
    names: {
      0x0: "NULL",
      0x7: "BELL",
      0x8: "BACKSPACE",
      0xd: "CARRIAGE RETURN",
      0x1b: "ESCAPE",
      0xad: "SOFT HYPHEN",
      0x61c: "ARABIC LETTER MARK",
      0x200b: "ZERO WIDTH SPACE",
      0x200c: "ZERO WIDTH NON-JOINER",
      0x200d: "ZERO WIDTH JOINER",
      0x200e: "LEFT-TO-RIGHT MARK",
      0x200f: "RIGHT-TO-LEFT MARK",
      0x2028: "LINE SEPARATOR",
      0x2029: "PARAGRAPH SEPARATOR",
      0x202a: "LEFT-TO-RIGHT EMBEDDING",
      0x202b: "RIGHT-TO-LEFT EMBEDDING",
      0x202c: "POP DIRECTIONAL FORMATTING",
      0x202d: "LEFT-TO-RIGHT OVERRIDE",
      0x202e: "RIGHT-TO-LEFT OVERRIDE",
      0x2060: "WORD JOINER",
      0x2066: "LEFT-TO-RIGHT ISOLATE",
      0x2067: "RIGHT-TO-LEFT ISOLATE",
      0x2068: "FIRST STRONG ISOLATE",
      0x2069: "POP DIRECTIONAL ISOLATE",
      0xfeff: "BYTE ORDER MARK",
    },
  },

  // ------------------------------------------------------------ values
  value: {
    looks: { text: "Text", tree: "Tree", markdown: "Markdown", diff: "Diff" },
    looksOf: (name: string) => `How to show: ${name}`,
    missing: "none",
    empty: "(empty)",
    characters: (count: string) => `${count} characters`,
    showAll: (count: string) => `Show all ${count} characters`,
    showMore: "Show more",
    less: "Show less",
    all: (count: string) => `all ${count}`,
    tooLong: (shown: string, all: string) => `The first ${shown} of ${all}. The page does not show more: download it.`,
    copy: "Copy",
    copied: "Copied",
    notCopied: "Not copied",
    copyOf: (name: string) => `Copy: ${name}`,
    copyPath: "Copy path",
    copyPart: "Copy value",
    download: "Download",
    downloadOf: (name: string) => `Download the whole: ${name}`,
    search: "Search",
    searchIn: (name: string) => `Search in: ${name}`,
    hits: (at: number, of: number, isMore: boolean) => (of === 0 ? "not found" : `${at > 0 ? `${at} of ` : ""}${of.toLocaleString("en")}${isMore ? "+" : ""}${at > 0 ? "" : " found: Enter"}`),
    keys: (count: number) => `${count.toLocaleString("en")} ${count === 1 ? "key" : "keys"}`,
    items: (count: number) => `${count.toLocaleString("en")} ${count === 1 ? "item" : "items"}`,
    moreMembers: (count: number, left: number) => `Show ${count.toLocaleString("en")} more of ${left.toLocaleString("en")}`,
    tooDeep: (depth: number) => `not opened: more than ${depth} levels deep`,
    cutHere: "(cut here)",
    onlyIn: (name: string) => `only in: ${name}`,
    same: "No difference.",
    difference: "Differences line by line",
    sameLines: (count: number) => `${count.toLocaleString("en")} equal lines`,
    moreLines: (count: number) => `Show more of ${count.toLocaleString("en")} lines`,
    diffCut: (count: string) => `Compared are the first 200,000 characters; ${count} were left out.`,
    look: "Look",
    hide: "Hide",
    save: "Save",
    broken: "This is not whole.",
    picture: (type: string) => `Picture (${type}) from this text`,
    pictureOf: "picture",
    pictureAbout: "A picture elsewhere. It is not loaded.",
    open: "open",
    done: "done",
    table: "Table",
  },

  // ------------------------------------------------------------ a case, and its history
  case: {
    title: "Case",
  },

  // ------------------------------------------------------------ traces
  trace: {
    title: "Trace",
  },

  // ------------------------------------------------------------ comparing
  compare: {
    title: "Compare",
  },

  // ------------------------------------------------------------ labels
  label: {
    title: "Label",
  },

  // ------------------------------------------------------------ judges
  judges: {
    title: "Judges",
  },

  // ------------------------------------------------------------ the keyboard
  keys: {
    title: "Keys",
    everywhere: "Everywhere",
    table: "In a table",
    help: "show or hide this list",
    runs: "go to the runs",
    cases: "go to the cases of this run",
    label: "go to labelling",
    theme: "light or dark",
    copy: "copy the address",
    back: "one level back",
    letters: "Keys of one letter",
    lettersWhy: "Switch them off if you use speech input, or if they get in your way. Enter, Esc and the arrows stay.",
    then: "then",
    or: "or",
  },
} as const;
