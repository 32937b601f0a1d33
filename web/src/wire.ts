// Made of src/calipers/viewer/wire.py by tools/viewer_types.py: change that one, and run `make web`.

export interface Problem {
  code: string;
  message: string;
  at: number | null;
  etag: string | null;
}

export interface ProblemAnswer {
  error: Problem;
}

export interface SessionAnswer {
  version: string;
  store: string;
  read_only: boolean;
  csrf: string;
  person: string | null;
  runs: number;
  has_embeddings: boolean;
}

export interface Interval {
  low: number;
  high: number;
  confidence: number;
  method: "bca" | "beta-binomial" | "betting" | "bounded-wilson" | "chao" | "clopper-pearson" | "clustered-newcombe" | "clustered-t" | "clustered-wilson" | "donner-zou" | "effective-clopper-pearson" | "effective-wilson" | "fieller" | "gaffke" | "good-turing" | "jackknife" | "jeffreys" | "log-log" | "newcombe" | "prediction-powered" | "rogan-gladen" | "splitting-t" | "stratified-beta" | "stratified-t" | "t" | "tango-exact" | "two-phase" | "welch" | "wilson" | "within-t";
}

export interface Estimate {
  value: number;
  interval: Interval | null;
  n_units: number;
  n_observations: number;
  n_clusters: number | null;
}

export interface Money {
  dollars: number;
  at_least: boolean;
  text: string;
}

export interface GateState {
  policy: string;
  outcome: string;
  decided: boolean;
}

export interface RunRow {
  id: string;
  name: string;
  dataset: string | null;
  state: "abandoned" | "failed" | "finished" | "interrupted" | "running";
  started_at: string;
  ended_at: string | null;
  seconds: number | null;
  attempts: number;
  total: number | null;
  cases: number | null;
  failures: number;
  repeat: number;
  rate: Estimate | null;
  cost: Money | null;
  task: string | null;
  task_version: string | null;
  commit: string | null;
  dirty: boolean;
  evaluators: string[];
  seed: number | null;
  gate: GateState | null;
  incomplete: string | null;
  shard: string | null;
  damaged: string | null;
}

export interface RunsAnswer {
  rows: RunRow[];
  next: string | null;
  total: number;
  datasets: string[];
}

export interface TrendPoint {
  run: string;
  name: string;
  started_at: string;
  state: "abandoned" | "failed" | "finished" | "interrupted" | "running";
  commit: string | null;
  dirty: boolean;
  task_version: string | null;
  estimate: Estimate | null;
  cost: Money | null;
  break_before: string[];
}

export interface TrendAnswer {
  dataset: string;
  evaluator: string | null;
  evaluators: string[];
  is_rate: boolean;
  points: TrendPoint[];
}

export interface WirePart {
  text: string;
  tone: "alert" | "bad" | "caution" | "plain" | "quiet" | "strong" | "warn";
}

export interface Headline {
  what: string;
  estimate: Estimate;
  text: string;
  how: string;
  tone: "bad" | "good" | "mixed";
  readings: string[][];
}

export interface Column {
  title: string;
  kind: "count" | "name" | "result" | "text";
}

export interface Cell {
  text: string;
  tone: "alert" | "bad" | "caution" | "plain" | "quiet" | "strong" | "warn";
  estimate: Estimate | null;
  is_rate: boolean;
  range: [number, number] | null;
  spoken: string;
}

export interface DrawnTable {
  columns: Column[];
  rows: Cell[][];
  note: string | null;
}

export interface ChartLine {
  name: string;
  x: number[];
  y: number[];
  low: (number | null)[];
  high: (number | null)[];
  stepped: boolean;
}

export interface TreeTurn {
  depth: number;
  tone: "bad" | "good" | "unknown";
  label: string;
  outcome: string;
  text: string;
  answer: string;
}

export interface Chart {
  title: string;
  description: string | null;
  note: string | null;
  kind: "facts" | "lines" | "matrix" | "scalar" | "table" | "tree";
  facts: string[];
  table: DrawnTable | null;
  labels: string[];
  matrix: number[][];
  unanswered: number[];
  x_label: string;
  y_label: string;
  is_rate: boolean;
  x_is_rate: boolean;
  diagonal: boolean;
  lines: ChartLine[];
  nodes: TreeTurn[];
}

export interface IndexState {
  state: "live" | "reading" | "ready";
  read: number;
  of: number;
}

export interface RunAnswer {
  run: RunRow;
  revision: string;
  facts: string[];
  alerts: WirePart[][];
  headline: Headline | null;
  no_headline: WirePart[] | null;
  evaluators: DrawnTable;
  slices: string[];
  tags: DrawnTable | null;
  notes: WirePart[][];
  measures: [string, WirePart[][]][];
  charts: Chart[];
  index: IndexState;
  has_sound: boolean;
  faults: boolean;
}

export interface Slice {
  value: string;
  is_missing: boolean;
  cases: number;
  estimate: Estimate | null;
  difference: number | null;
  difference_interval: Interval | null;
  adjusted_p: number | null;
  differs: boolean;
  filter: string;
}

export interface SlicesAnswer {
  by: string;
  evaluator: string | null;
  is_rate: boolean;
  slices: Slice[];
  left_out: number;
  looked_at: number;
  correction: string;
  whole: Estimate | null;
  timed_out: boolean;
}

export interface FacetValue {
  value: string;
  cases: number;
  filter: string;
}

export interface FacetsAnswer {
  field: string;
  values: FacetValue[];
  left_out: number;
  timed_out: boolean;
}

export interface FailureGroup {
  id: string;
  evaluator: string | null;
  said: string;
  mark: "error" | "fail";
  cases: number;
  share: number;
  example: string;
  example_name: string;
  filter: string;
  concentrated: Slice[];
}

export interface GroupsAnswer {
  by: "meaning" | "said";
  groups: FailureGroup[];
  left_out: number;
  ungrouped: number;
  is_ready: boolean;
  looked_at: number | null;
  of: number | null;
}

export interface CaseRow {
  at: number;
  id: string;
  name: string;
  marks: string;
  mark: "error" | "fail" | "partial" | "pass" | "skip";
  why: string;
  input: string;
  output: string;
  expected: string | null;
  seconds: number | null;
  cost: number | null;
  tokens: number | null;
  values: (number | string | null)[];
  tags: string[];
  labelled: number;
}

export interface CaseColumn {
  name: string;
  kind: "assertion" | "label" | "score";
  range: [number, number] | null;
}

export interface CasesAnswer {
  rows: CaseRow[];
  columns: CaseColumn[];
  total: number;
  all: number;
  at: number;
  index: IndexState;
  searched: number;
}

export interface TalkStep {
  kind: "agent" | "model" | "tool";
  text: string;
}

export interface CellJudgement {
  name: string;
  evaluator: string;
  kind: "assertion" | "failure" | "label" | "score" | "skip";
  mark: "error" | "fail" | "partial" | "pass" | "skip" | null;
  value: boolean | number | string | null;
  text: string;
  reason: string;
  traceback: string;
  is_judge: boolean;
  details: ShownValue | null;
}

export interface TalkTurn {
  number: number;
  branch: number | null;
  asked: ShownValue;
  answered: ShownValue;
  steps: TalkStep[];
  facts: string[];
  judgements: CellJudgement[];
}

export interface Talk {
  asker: string;
  answerer: string;
  instructions: string;
  opening: string;
  turns: TalkTurn[];
  stopped: string | null;
  left_out: number;
}

export interface ShownValue {
  kind: "json" | "missing" | "text";
  text: string;
  length: number;
  href: string | null;
  talk: Talk | null;
}

export interface TraceSummary {
  title: string;
  steps: number;
  facts: string[];
  notes: string[];
  extent: number | null;
  failed_step: number | null;
}

export interface Sound {
  title: string;
  href: string;
  media_type: string;
  seconds: number | null;
  peaks: number[];
}

export interface HeardWord {
  said: string;
  heard: string;
  kind: "added" | "changed" | "missed" | "same";
}

export interface Hearing {
  said: string;
  heard: string;
  words: HeardWord[];
  word_error_rate: number | null;
}

export interface PersonLabel {
  question: string;
  person: string;
  value: string;
  note: string;
  at: string;
}

export interface AttemptView {
  position: number;
  repeat: number;
  mark: "error" | "fail" | "partial" | "pass" | "skip";
  output: ShownValue;
  error: string | null;
  error_type: string | null;
  traceback: string;
  seconds: number | null;
  cost: Money | null;
  judging: string;
  tokens_in: number | null;
  tokens_out: number | null;
  tries: number;
  judgements: CellJudgement[];
  not_run: string[];
  metrics: [string, string][];
  attributes: [string, ShownValue][];
  attributes_left_out: number;
  has_trace: boolean;
  trace: TraceSummary | null;
  talk: Talk | null;
  tree: TreeTurn[];
  sounds: Sound[];
  hearing: Hearing | null;
  labels: PersonLabel[];
  trace_id: string | null;
  fault: string | null;
  teardown: string;
}

export interface CaseAnswer {
  run: RunRow;
  id: string;
  name: string;
  input: ShownValue;
  expected: ShownValue;
  expected_calls: ShownValue;
  metadata: ShownValue;
  tags: string[];
  cluster: string | null;
  attempts: AttemptView[];
  first: number;
  marks: string;
  at: number | null;
  of: number | null;
  previous: string | null;
  next: string | null;
  next_failure: string | null;
  previous_failure: string | null;
}

export interface HistoryPoint {
  run: string;
  run_name: string;
  started_at: string;
  commit: string | null;
  marks: string;
  seconds: number | null;
  cost: number | null;
  output: string;
  changed_case: boolean;
  changed_output: boolean;
}

export interface HistoryAnswer {
  id: string;
  name: string;
  points: HistoryPoint[];
  summary: string;
  left_out: number;
}

export interface TraceAnswer {
  total: number;
  loaded: number;
  id: number[];
  parent: number[];
  depth: number[];
  kind: ("agent" | "model" | "span" | "tool" | "user")[];
  label: string[];
  start: (number | null)[];
  took: (number | null)[];
  failed: boolean[];
  error: Record<number, string>;
  tokens_in: (number | null)[];
  tokens_out: (number | null)[];
  cost: (number | null)[];
  children: number[];
  missing: number[];
  extent: number | null;
  facts: string[];
  notes: string[];
}

export interface StepBody {
  id: number;
  content: ShownValue;
  arguments: ShownValue;
  output: ShownValue;
  error: string;
  details: ShownValue;
  sounds: Sound[];
}

export interface StepsAnswer {
  steps: StepBody[];
}

export interface FoundStepsAnswer {
  ids: number[];
  left_out: number;
  timed_out: boolean;
}

export interface ComparedRun {
  label: string;
  name: string;
  run: RunRow;
}

export interface CompareReading {
  read: number;
  of: number;
  failed: string;
}

export interface DifferenceRow {
  name: string;
  kind: "assertion" | "duration" | "metric" | "pass rate" | "score";
  values: string[];
  sentence: string;
  mark: "better" | "higher" | "identical" | "lower" | "same" | "unclear" | "worse";
  difference: number;
  interval: Interval | null;
  scale: "number" | "points" | "relative";
  better: "higher" | "lower" | null;
  text: string;
  ends: string;
  p: string;
  adjusted: string;
  p_value: number | null;
  adjusted_p: number | null;
  smallest: number;
  cases: number;
  notes: string[];
  broken: number;
  fixed: number;
  spoken: string;
}

export interface ComparedPair {
  candidate: number;
  lead: string[];
  outcome: "better" | "incomparable" | "nothing" | "same" | "unclear" | "worse";
  facts: string[];
  rate: DifferenceRow | null;
  evaluators: DifferenceRow[];
  measures: DifferenceRow[];
  measures_note: string;
  slices: DifferenceRow[];
  labels: [string, string][];
  warnings: string[];
  differing: [string, string][];
  differing_total: number;
  unpaired: [string, number, string[]][];
  paired: number;
  flips: Record<string, number>;
  moved_to_fail: number;
  flip_notes: string[];
  footnote: string;
}

export interface FlippedAssertion {
  name: string;
  baseline: boolean | null;
  candidate: boolean | null;
  baseline_reason: string | null;
  candidate_reason: string | null;
}

export interface FlipRow {
  case: string;
  name: string;
  way: "broken" | "fixed" | "moved";
  marks: string[];
  counts: string;
  assertions: FlippedAssertion[];
  outputs: string[];
  parting: string;
  noise: number;
  basis: "attempts" | "other flips";
}

export interface CompareAnswer {
  runs: ComparedRun[];
  reading: CompareReading | null;
  pairs: ComparedPair[];
  of: number;
  flips: FlipRow[];
  flips_total: number;
  next: string | null;
  paired_by: "content" | "name";
  these_cases: boolean;
  left_out: string[];
  timed_out: boolean;
}

export interface AttemptBrief {
  position: number;
  mark: "error" | "fail" | "partial" | "pass" | "skip";
  gave: string;
  why: string;
  seconds: number | null;
}

export interface CaseInRun {
  id: string;
  name: string;
  changed: boolean;
  attempts: AttemptBrief[];
  attempts_left_out: number;
  marks: string;
}

export interface CaseFlip {
  way: "broken" | "fixed" | "moved";
  evaluators: string[];
  noise: number | null;
  basis: "attempts" | "other flips";
}

export interface ComparedAttempt {
  number: number;
  position: number;
  mark: "error" | "fail" | "partial" | "pass" | "skip";
  gave: ShownValue;
  failed: boolean;
  traceback: string;
  seconds: number | null;
  cost: Money | null;
  tokens_in: number | null;
  tokens_out: number | null;
  sounds: Sound[];
  hearing: Hearing | null;
  has_trace: boolean;
}

export interface ComparedColumn {
  name: string;
  differs: boolean;
  sides: (CellJudgement | null)[];
  makers: string[];
}

export interface ComparedCaseAnswer {
  name: string;
  id: string;
  runs: ComparedRun[];
  of: number;
  reading: CompareReading | null;
  cases: CaseInRun[];
  differing: ("expected output" | "inputs" | "metadata")[];
  outcome: "baseline" | "broken" | "candidate" | "failed" | "fixed" | "moved" | "other" | "passed";
  counts: string;
  flip: CaseFlip | null;
  inputs: ShownValue[];
  expected: ShownValue[];
  expected_calls: ShownValue[];
  sides: (ComparedAttempt | null)[];
  rows: ComparedColumn[];
  previous: string | null;
  next: string | null;
  at: number | null;
  flips: number | null;
  left_out: string[];
  timed_out: boolean;
}

export interface AlignedValue {
  path: string;
  sides: ShownValue[];
}

export interface AlignedStep {
  kind: "agent" | "model" | "tool" | "user";
  ids: (number | null)[];
  numbers: (number | null)[];
  shown: string[];
  same: boolean;
  values: AlignedValue[];
  values_left_out: number;
}

export interface AlignedTracesAnswer {
  lines: string[];
  facts: string[][];
  steps: AlignedStep[];
  first: number | null;
  begin: number;
  total: number;
  cut: boolean;
}

export interface LabelQuestion {
  id: string;
  run: string;
  run_name: string;
  question: string;
  kind: "choices" | "scale" | "yes or no";
  choices: string[];
  keys: string[];
  people: [string, number][];
  labelled: number;
  of: number;
  judge: string | null;
}

export interface LabelsAnswer {
  questions: LabelQuestion[];
  runs: RunRow[];
}

export interface LabelPlan {
  run: string;
  question: string;
  person: string;
  scale: string | null;
  choices: string | null;
  hide_expected: boolean;
  show_metadata: boolean;
  count: number | null;
  judge: string | null;
  seed: number | null;
  width: number | null;
}

export interface LabelItem {
  position: number;
  case: string;
  repeat: number;
  repeats: number;
  number: number;
  input: ShownValue;
  output: ShownValue;
  error: string | null;
  expected: ShownValue | null;
  expected_calls: ShownValue | null;
  metadata: ShownValue | null;
  talk: Talk | null;
  trace: TraceSummary | null;
  sounds: Sound[];
  own: PersonLabel | null;
  etag: string;
}

export interface LabelProgress {
  done: number;
  of: number;
  skipped: number;
  width: number | null;
  wanted_width: number | null;
  about_left: number | null;
  why: string;
}

export interface LabelItemAnswer {
  question: LabelQuestion;
  plan: LabelPlan;
  item: LabelItem | null;
  ahead: LabelItem[];
  progress: LabelProgress;
  last: number | null;
}

export interface LabelWrite {
  plan: LabelPlan;
  position: number;
  choice: number | null;
  note: string;
  etag: string;
}

export interface LabelUndo {
  plan: LabelPlan;
  position: number | null;
  skipped: boolean;
}

export interface Measurement {
  value: number;
  interval: Interval | null;
  n: number;
}

export interface Passport {
  judge: string;
  identity: string;
  parts: Record<string, string>;
  model: string | null;
  at: string;
  labels: number;
  unjudged: number;
  repeats: number;
  measured: Record<string, Measurement>;
  unmeasured: Record<string, string>;
}

export interface Standing {
  passport: Passport | null;
  other: Passport | null;
  changes: string[];
  unknown: string | null;
}

export interface JudgeTrait {
  name: string;
  what: string;
  kind: "difference" | "number" | "rate";
  text: string;
  ends: string;
  value: number | null;
  interval: Interval | null;
  n: number;
  ideal: number | null;
  why: string;
}

export interface Disagreement {
  run: string;
  run_name: string;
  case: string;
  name: string;
  repeat: number;
  judge_said: string;
  people_said: string;
  cell: [string, string];
  reason: string;
  note: string;
}

export interface JudgeCard {
  id: string;
  name: string;
  model: string | null;
  standing: Standing | null;
  traits: JudgeTrait[];
  question: string | null;
  questions: string[];
  labels: number;
  confusion: Chart | null;
  agreement: Estimate | null;
  kappa: Estimate | null;
  notes: string[];
  runs: [string, string][];
  runs_total: number;
  disagreements: Disagreement[];
  disagreements_total: number;
}

export interface JudgesAnswer {
  judges: JudgeCard[];
  names: [string, string][];
  timed_out: boolean;
}

export interface FilterTerm {
  start: number;
  end: number;
  text: string;
  field: string;
}

export interface FilterAnswer {
  terms: FilterTerm[];
  problem: Problem | null;
}

export interface Completion {
  text: string;
  start: number;
  end: number;
  about: string;
}

export interface CompletionsAnswer {
  completions: Completion[];
}

export interface Progress {
  run: string;
  state: "abandoned" | "failed" | "finished" | "interrupted" | "running";
  revision: string;
  attempts: number;
  total: number | null;
  failures: number;
  seconds: number | null;
  cases: number | null;
  rate: Estimate | null;
  gate: GateState | null;
  index: IndexState | null;
}

export interface RunsChanged {
  began: string[];
  ended: string[];
  gone: string[];
}
