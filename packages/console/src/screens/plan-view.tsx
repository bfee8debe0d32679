/** What would move, before it does. */
import type { WorkloadPlacement } from "@kcp-ts/sdk/kinds";
import { Tone } from "../elements/index.ts";
import { Bar } from "./bar.tsx";
import { assignmentText, type Plan, type PlannedMove, workloadOf } from "./placement-review.ts";

interface PlanViewProps {
  readonly plan: Plan;
  /** The workload that the question is about: it comes first, cluster by cluster. */
  readonly about?: WorkloadPlacement | undefined;
}

export function PlanView({ plan, about }: PlanViewProps) {
  const { moves, replicas, unchanged, hiddenMoves } = plan;
  const own = about === undefined ? undefined : moves.find((move) => isOf(move, about));
  const others = moves.filter((move) => move !== own);
  return (
    <div class="plan">
      <p role="status">
        {moves.length === 0
          ? `Nothing would move: ${counted(unchanged, "workload")} would stay.`
          : `${counted(replicas, "replica")} of ${counted(moves.length, "workload")} would move, ${unchanged} would stay.`}
        {hiddenMoves > 0
          ? ` ${counted(hiddenMoves, "workload")} that you may not see would move, too.`
          : ""}
      </p>
      {own === undefined ? null : <Comparison move={own} />}
      {others.length === 0 ? null : (
        <table class="small">
          <caption class={own === undefined ? "hidden" : ""}>
            {own === undefined ? "What would move" : "What else would move"}
          </caption>
          <thead>
            <tr>
              <th scope="col">Workload</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
              <th scope="col">Result</th>
            </tr>
          </thead>
          <tbody>{others.map(moveRow)}</tbody>
        </table>
      )}
    </div>
  );
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function isOf({ kind, namespace, name }: PlannedMove, placement: WorkloadPlacement): boolean {
  const workload = workloadOf(placement);
  return kind === workload.kind && namespace === workload.namespace && name === workload.name;
}

/** The workload in each cluster, before and after. */
function Comparison({ move }: { readonly move: PlannedMove }) {
  const { kind, name, from, to } = move;
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort();
  const most = Math.max(...Object.values(from), ...Object.values(to));
  const side = (count: number, title: string) => (
    <td class="bar-cell">
      <span class="number">{count}</span>
      <Bar value={count} wanted={count} most={most} label={`${title}: ${count}`} />
    </td>
  );
  return (
    <table class="small" aria-label={`${kind} ${name}, before and after`}>
      <thead>
        <tr>
          {["Cluster", "Before", "After", "Change"].map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {names.map((cluster) => {
          const [before, after] = [from[cluster] ?? 0, to[cluster] ?? 0];
          return (
            <tr key={cluster}>
              <th scope="row">{cluster}</th>
              {side(before, "before")}
              {side(after, "after")}
              <td class="number">{changeText(after - before)}</td>
            </tr>
          );
        })}
      </tbody>
      <caption class="below">
        <Outcome move={move} />
      </caption>
    </table>
  );
}

function changeText(change: number): string {
  if (change === 0) return "stays";
  return change > 0 ? `+${change}` : `−${-change}`;
}

function Outcome({ move }: { readonly move: PlannedMove }) {
  const { unscheduled, rejectedBy, reasons } = move;
  const stays = rejectedBy.map(({ cluster, reason }) => `stays in ${cluster} (${reason})`);
  const isWell = unscheduled === 0 && stays.length === 0;
  const lacking = unscheduled > 0 ? [`${unscheduled} unschedulable`] : [];
  const text = isWell ? "moves" : [...stays, ...lacking, ...reasons].join("; ");
  return <Tone word={text} tone={isWell ? "good" : "warn"} />;
}

function moveRow(move: PlannedMove) {
  const { kind, namespace, name, from, to } = move;
  return (
    <tr key={`${kind} ${namespace} ${name}`}>
      <th scope="row">{`${kind.toLowerCase()}/${name} in ${namespace}`}</th>
      <td>{assignmentText(from)}</td>
      <td>{assignmentText(to)}</td>
      <td class="wide">
        <Outcome move={move} />
      </td>
    </tr>
  );
}
