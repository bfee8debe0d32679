/** A difference by lines, with three lines around each change. */
import { LongText } from "../elements/index.ts";
import { type Line, lineDiff } from "./line-diff.ts";

interface DiffViewProps {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}

const around = 3;
const lineCharactersMax = 2000;
const marks = { same: " ", added: "+", removed: "-" } as const;

export function DiffView({ before, after, label }: DiffViewProps) {
  const lines = lineDiff(before, after);
  const shown = lines.map((_, at) =>
    lines.slice(Math.max(0, at - around), at + around + 1).some(({ kind }) => kind !== "same"),
  );
  if (!shown.includes(true)) return <p class="quiet">{`${label}: nothing changes.`}</p>;
  return (
    <section class="diff" aria-label={label}>
      {lines.map((line, at) => row(line, at, shown))}
    </section>
  );
}

function row({ kind, text }: Line, at: number, shown: readonly boolean[]) {
  if (shown[at] !== true)
    return shown[at - 1] === true || at === 0 ? (
      <div key={at} class="gap" aria-hidden="true">
        ⋯
      </div>
    ) : null;
  return (
    <div key={at} class={kind}>
      <span class="mark">{marks[kind]}</span>
      <span>
        <LongText text={text} charactersMax={lineCharactersMax} />
      </span>
    </div>
  );
}
