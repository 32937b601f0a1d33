// What evaluators said of two attempts: those that changed their mind first, with both reasons; what is the same folds away.
import { useState } from "preact/hooks";
import { plural } from "../numbers";
import { TEXTS } from "../texts";
import type { CellJudgement, ComparedColumn } from "../wire";
import type { Side } from "./chosen-attempts";
import type { Column } from "./column";
import { useIsNarrow } from "./display";
import { Traceback } from "./judgements";
import { MarkShape } from "./mark";
import { oneLine, Plain } from "./plain";
import { SimpleTable } from "./simple-table";

const WORDS = TEXTS.comparedCase;
/** Rows that are the same, beyond which they fold away. */
const FEW = 3;

export function Said({ rows, sides }: { rows: ComparedColumn[]; sides: [Side, Side] }) {
  const differing = rows.filter((row) => row.differs);
  const same = rows.length - differing.length;
  const [isOpen, setOpen] = useState(differing.length === 0 || same <= FEW);
  const isNarrow = useIsNarrow();
  const shown = isOpen ? rows : differing;
  const more = same > FEW && differing.length > 0 && (
    <button type="button" class="quiet-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
      {isOpen ? WORDS.hideSame : WORDS.sameSaid(plural(same, "evaluator"))}
    </button>
  );
  const columns: Column<ComparedColumn>[] = [
    {
      name: "evaluator",
      title: WORDS.evaluator,
      plain: (row) => row.name,
      cell: (row) => <Name row={row} />,
    },
    ...sides.map(
      (side, at): Column<ComparedColumn> => ({
        name: side.letter,
        title: `${side.letter} ${oneLine(side.name, 30)}`,
        about: side.name,
        fills: at === 1,
        plain: (row) => plain(row.sides[at]),
        cell: (row) => <SaidView said={row.sides[at] ?? null} />,
      }),
    ),
  ];
  return (
    <section class="section">
      <div class="section-head">
        <h2>{WORDS.said}</h2>
      </div>
      {rows.length === 0 ? (
        <p class="quiet">{WORDS.noneSaid}</p>
      ) : isNarrow ? (
        <>
          <ul class="said-rows" aria-label={WORDS.said}>
            {shown.map((row) => (
              <li key={row.name} class={row.differs ? "said-differs" : undefined}>
                <Name row={row} />
                {sides.map((side, at) => (
                  <div key={side.letter} class="said-side">
                    <b class="letter" title={side.name}>
                      {side.letter}
                    </b>
                    <SaidView said={row.sides[at] ?? null} />
                  </div>
                ))}
              </li>
            ))}
          </ul>
          {more && <div class="table-foot">{more}</div>}
        </>
      ) : (
        <div class="said-table">
          <SimpleTable label={WORDS.said} columns={columns} rows={shown} id={(row) => row.name} rowClass={(row) => (row.differs ? "said-differs" : undefined)} tools={more} />
        </div>
      )}
    </section>
  );
}

function plain(said: CellJudgement | null | undefined): string {
  return said ? [said.text, said.reason].filter(Boolean).join(": ") : "";
}

function Name({ row }: { row: ComparedColumn }) {
  const isJudge = row.sides.some((side) => side?.is_judge);
  return (
    <span class="said-name">
      <Plain text={oneLine(row.name, 80)} />
      {isJudge && <span class="badge">{TEXTS.case.judge}</span>}
      {row.differs && <span class="said">{WORDS.changed}</span>}
      {row.makers.length === 2 && (
        <span class="tone-warn said-makers">
          <Plain text={WORDS.makers(oneLine(row.makers[0]!, 120), oneLine(row.makers[1]!, 120))} />
        </span>
      )}
    </span>
  );
}

function SaidView({ said }: { said: CellJudgement | null }) {
  if (!said) return <span class="quiet">{WORDS.noResult}</span>;
  const isBad = said.mark === "fail" || said.mark === "error";
  return (
    <div class="said-what-of">
      <span class="mark-word">
        {said.mark && <MarkShape mark={said.mark} />} <Plain text={said.text} />
      </span>
      {said.reason && (
        <div class={isBad ? "prose" : "prose quiet"} dir="auto">
          <Plain text={said.reason} />
        </div>
      )}
      {said.traceback && <Traceback text={said.traceback} />}
    </div>
  );
}
