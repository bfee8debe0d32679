/** What would move, before it does. */
import { Tone } from "../elements/index.ts";
import { assignmentText, type Plan, type PlannedMove } from "./placement-review.ts";

export function PlanView({ plan }: { readonly plan: Plan }) {
  const { moves, replicas, unchanged, hiddenMoves } = plan;
  return (
    <div class="plan" role="status">
      <p>
        {moves.length === 0
          ? `Nothing would move: ${unchanged} workloads stay.`
          : `${replicas} replicas of ${moves.length} workloads would move, ${unchanged} stay.`}
        {hiddenMoves > 0 ? ` ${hiddenMoves} workloads that you may not see would move, too.` : ""}
      </p>
      {moves.length === 0 ? null : (
        <table class="small">
          <caption class="hidden">What would move</caption>
          <thead>
            <tr>
              <th scope="col">Workload</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
              <th scope="col">Result</th>
            </tr>
          </thead>
          <tbody>{moves.map(moveRow)}</tbody>
        </table>
      )}
    </div>
  );
}

function moveRow(move: PlannedMove) {
  const { kind, namespace, name, from, to, unscheduled, rejectedBy, reasons } = move;
  const stays = rejectedBy.map(({ cluster, reason }) => `stays in ${cluster} (${reason})`);
  const isWell = unscheduled === 0 && stays.length === 0;
  const text = isWell
    ? "moves"
    : [...stays, ...(unscheduled > 0 ? [`${unscheduled} unschedulable`] : []), ...reasons].join(
        "; ",
      );
  return (
    <tr key={`${kind} ${namespace} ${name}`}>
      <th scope="row">{`${kind.toLowerCase()}/${name} in ${namespace}`}</th>
      <td>{assignmentText(from)}</td>
      <td>{assignmentText(to)}</td>
      <td class="wide">
        <Tone word={text} tone={isWell ? "good" : "warn"} />
      </td>
    </tr>
  );
}
