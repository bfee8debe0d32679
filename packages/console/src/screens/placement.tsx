/** Where a workload is, why, what is on its way, and what would be if. */
import { type WorkloadPlacement, workloadPlacements } from "@kcp-ts/sdk/kinds";
import {
  ageText,
  type Condition,
  ConditionList,
  Empty,
  ErrorNotice,
  Field,
  KubectlLine,
  Part,
  shellLine,
  Tone,
} from "../elements/index.ts";
import { nameSelector, now, useLiveObjects, useLoaded, useResource } from "../live/index.ts";
import { formatRoute } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { Bar } from "./bar.tsx";
import type { ScreenProps } from "./console.tsx";
import { assignmentText, explainPlacement, workloadOf } from "./placement-review.ts";
import { WhatIf } from "./what-if.tsx";

export function PlacementScreen({ route: { cluster, namespace = "", name = "" } }: ScreenProps) {
  const client = useSession().clientIn(cluster);
  const live = useLiveObjects<WorkloadPlacement>(client, workloadPlacements, {
    namespace,
    fieldSelector: nameSelector(name),
  });
  const placement = live?.objects[0];
  const line = shellLine`kubectl ws :${cluster} && kubectl get wp -n ${namespace} ${name}`;
  return (
    <>
      <header class="title">
        <h1>{`Placement of ${titleOf(placement) ?? name} in ${namespace}`}</h1>
        {placement === undefined ? null : <WorkloadLink cluster={cluster} placement={placement} />}
      </header>
      <KubectlLine line={line} />
      {placement !== undefined ? (
        <Placement cluster={cluster} placement={placement} />
      ) : (
        <Part of={live} what="the placement">
          <Empty
            what="This workload has no placement: it is not scheduled to clusters, or its workspace has none."
            next="kubectl get synctargets,placements"
          />
        </Part>
      )}
    </>
  );
}

function titleOf(placement: WorkloadPlacement | undefined): string | undefined {
  const { kind, name } = placement?.spec.workloadRef ?? {};
  return kind === undefined ? undefined : `${kind} ${name}`;
}

interface PlacementProps {
  readonly cluster: string;
  readonly placement: WorkloadPlacement;
}

type ClusterPlacement = NonNullable<NonNullable<WorkloadPlacement["status"]>["clusters"]>[number];

function WorkloadLink({ cluster, placement }: PlacementProps) {
  const { type, kind, name, namespace } = workloadOf(placement);
  return (
    <a
      class="button"
      href={formatRoute({ screen: "object", cluster, resource: type, namespace, name })}
    >
      {kind}
    </a>
  );
}

function Placement({ cluster, placement }: PlacementProps) {
  const { status = {} } = placement;
  const { desired = 0, scheduled = 0, ready = 0 } = status.replicas ?? {};
  const isWell = ready >= desired;
  return (
    <>
      <section class="block" aria-labelledby="state">
        <h2 id="state">State</h2>
        <dl class="fields">
          <Field name="Ready">
            <Tone word={`${ready}/${desired}`} tone={isWell ? "good" : "warn"} />
          </Field>
          <Field name="Scheduled">{`${scheduled}/${desired}`}</Field>
        </dl>
        <ConditionList
          conditions={(status.conditions ?? []) as Condition[]}
          nowMs={now.value}
          isBrief
        />
      </section>
      <ClusterRows cluster={cluster} placement={placement} />
      <WhatIf cluster={cluster} placement={placement} />
      <History placement={placement} />
    </>
  );
}

/** All clusters that the workload could be in: with those that it is not in, and why. */
function ClusterRows({ cluster, placement }: PlacementProps) {
  const client = useSession().clientIn(cluster);
  const { group, name, namespace, kind } = workloadOf(placement);
  const named = useResource(client, group === "" ? kind : `${kind}.${group}`).result;
  const { resourceVersion } = placement.metadata;
  const { result: explanation, error } = useLoaded(
    () => explainPlacement(client, { resource: named?.resource ?? "", group, namespace, name }),
    named ? `${cluster} ${named.resource} ${resourceVersion}` : undefined,
  );
  const rows = new Map<string, ClusterPlacement>(
    (placement.status?.clusters ?? []).map((one) => [one.name, one]),
  );
  const names = [
    ...new Set([...rows.keys(), ...(explanation?.clusters ?? []).map((one) => one.name)]),
  ];
  const most = Math.max(
    1,
    ...[...rows.values()].map(({ desired = 0, ready = 0 }) => Math.max(desired, ready)),
  );
  return (
    <section class="block" aria-labelledby="clusters">
      <h2 id="clusters">Clusters</h2>
      <table class="small">
        <thead>
          <tr>
            {["Cluster", "State", "Ready / desired", "", "Capacity", "Phase", "Reason"].map(
              (title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {names.map((one) => {
            const row = rows.get(one) ?? { name: one };
            const why = explanation?.clusters.find((each) => each.name === one);
            return clusterRow(cluster, row, why, most);
          })}
        </tbody>
      </table>
      {error === undefined ? null : (
        <ErrorNotice error={error} what="capacities, reasons and clusters that it is not in" />
      )}
      {explanation?.shortage === undefined ? null : <p>{explanation.shortage}</p>}
      {explanation === undefined ? null : (
        <p class="quiet">{`By ${explanation.policy.join(", ") || "no policy: all clusters, evenly"}.`}</p>
      )}
    </section>
  );
}

/** What is under way in a cluster, as it happens. */
function movingTexts({ desired = 0, move, rollout }: ClusterPlacement): readonly string[] {
  const since = (time: string) => `for ${ageText(time, now.value)}`;
  return [
    move === undefined
      ? ""
      : move.rolledBack === true
        ? `move from ${move.from} to ${desired} replicas rolled back`
        : `moving from ${move.from} to ${desired} replicas ${since(move.since)}`,
    rollout === undefined
      ? ""
      : rollout.rolledBack === true
        ? "rollout rolled back"
        : `rolling out ${since(rollout.since)}`,
  ];
}

function clusterRow(
  cluster: string,
  row: ClusterPlacement,
  why: { capacity?: number; reasons: readonly string[] } | undefined,
  most: number,
) {
  const {
    name,
    state = "",
    desired = 0,
    ready = 0,
    phase = "",
    inFlight,
    reason = "",
    message,
  } = row;
  const arriving = inFlight === undefined ? "" : ` (${inFlight.replicas} arriving)`;
  const texts = [...movingTexts(row), reason, message ?? "", ...(why?.reasons ?? [])].filter(
    (text) => text !== "",
  );
  return (
    <tr key={name}>
      <th scope="row">
        <a href={formatRoute({ screen: "cluster", cluster, name })}>{name}</a>
      </th>
      <td>
        <Tone word={state} />
      </td>
      <td class="number">{`${ready} / ${desired}${arriving}`}</td>
      <td class="bar-cell">
        <Bar
          value={ready}
          wanted={desired}
          most={most}
          label={`${ready} of ${desired} ready in ${name}`}
        />
      </td>
      <td class="number">{why?.capacity ?? ""}</td>
      <td>
        <Tone word={phase} />
      </td>
      <td class="wide">{[...new Set(texts)].join("; ")}</td>
    </tr>
  );
}

function History({ placement }: { readonly placement: WorkloadPlacement }) {
  const { history = [] } = placement.status ?? {};
  if (history.length === 0) return null;
  return (
    <section class="block" aria-labelledby="history">
      <h2 id="history">History of decisions</h2>
      <ol class="history">
        {history.map(({ time, replicas, assigned, reasons }) => (
          <li key={`${time} ${assignmentText(assigned)}`}>
            <time dateTime={time}>{`${ageText(time, now.value)} ago`}</time>
            <span>{`${replicas}: ${assignmentText(assigned)}`}</span>
            <span class="quiet">{reasons.join("; ")}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
