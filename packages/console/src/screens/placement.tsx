/** Where a workload is, why, what is on its way, and what would be if. */
import { type Client, type DynamicObject, defineResource } from "@kcp-ts/sdk/client";
import { syncTargets, type WorkloadPlacement, workloadPlacements } from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import {
  ageText,
  type Condition,
  ConditionList,
  ErrorNotice,
  Field,
  KubectlLine,
  Loading,
  Tone,
} from "../elements/index.ts";
import { now, useLiveObjects, useLoaded, useResource } from "../live/index.ts";
import { formatRoute } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import type { ScreenProps } from "./console.tsx";
import {
  assignmentText,
  explainPlacement,
  type PlannedChange,
  planChange,
} from "./placement-review.ts";
import { PlanView } from "./plan-view.tsx";
import { Weights } from "./weights.tsx";

export function PlacementScreen({ route: { cluster, namespace = "", name = "" } }: ScreenProps) {
  const client = useSession().clientIn(cluster);
  const live = useLiveObjects<WorkloadPlacement>(client, workloadPlacements, {
    namespace,
    fieldSelector: `metadata.name=${name}`,
  });
  const placement = live?.objects[0];
  const { hasSynced, lastError } = live?.health ?? {};
  const line = `kubectl ws :${cluster} && kubectl get wp -n ${namespace} ${name}`;
  return (
    <>
      <header class="title">
        <h1>{`Placement of ${name} in ${namespace}`}</h1>
        {placement === undefined ? null : <WorkloadLink cluster={cluster} placement={placement} />}
      </header>
      <KubectlLine line={line} />
      {placement !== undefined ? (
        <Placement cluster={cluster} placement={placement} />
      ) : hasSynced === true ? (
        <p>
          This workload has no placement: it is not scheduled to clusters, or its workspace has
          none.
        </p>
      ) : lastError !== undefined ? (
        <ErrorNotice error={lastError} />
      ) : (
        <Loading what="the placement" />
      )}
    </>
  );
}

interface PlacementProps {
  readonly cluster: string;
  readonly placement: WorkloadPlacement;
}

type ClusterPlacement = NonNullable<NonNullable<WorkloadPlacement["status"]>["clusters"]>[number];

function workloadOf({ spec, metadata }: WorkloadPlacement) {
  const { apiVersion, kind, name } = spec.workloadRef;
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const { namespace = "" } = metadata;
  const type = group === "" ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
  return { group, version, kind, name, namespace, type };
}

function WorkloadLink({ cluster, placement }: PlacementProps) {
  const { type, kind, name, namespace } = workloadOf(placement);
  return (
    <a
      class="button"
      href={formatRoute({ screen: "object", cluster, resource: type, namespace, name })}
    >
      {`${kind} ${name}`}
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
        <ConditionList conditions={(status.conditions ?? []) as Condition[]} nowMs={now.value} />
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
  const { result: explanation } = useLoaded(
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
      <td>
        <meter
          min={0}
          max={most}
          value={ready}
          aria-label={`${ready} of ${desired} ready in ${name}`}
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

export interface Question {
  readonly title: string;
  readonly line: string;
  readonly plan: () => Promise<PlannedChange>;
  /** What the question asks about, done. Undefined where nothing can be done: a loss happens. */
  readonly action?: { readonly text: string; readonly run: () => Promise<unknown> } | undefined;
}

function WhatIf(props: PlacementProps) {
  const client = useSession().clientIn(props.cluster);
  const [question, setQuestion] = useState<Question | undefined>(undefined);
  const [asked, setAsked] = useState(0);
  const { result, error } = useLoaded(
    async () => planChange(client, await (question as Question).plan()),
    question === undefined ? undefined : `${asked}`,
  );
  const ask = (one: Question) => {
    setQuestion(one);
    setAsked(asked + 1);
  };
  return (
    <section class="block" aria-labelledby="what-if">
      <h2 id="what-if">What if</h2>
      <Questions {...props} onAsk={ask} />
      <Weights cluster={props.cluster} onAsk={ask} />
      {question === undefined ? (
        <p class="quiet">Nothing is changed by asking.</p>
      ) : (
        <>
          <h3>{question.title}</h3>
          <KubectlLine line={question.line} />
          {error !== undefined ? <ErrorNotice error={error} /> : null}
          {result !== undefined ? <PlanView plan={result} /> : null}
          {result !== undefined && question.action !== undefined ? (
            <DoIt key={asked} action={question.action} />
          ) : null}
          {result === undefined && error === undefined ? <Loading what="the plan" /> : null}
        </>
      )}
    </section>
  );
}

/** A button that does what was asked about, after its answer is seen. */
function DoIt({ action }: { readonly action: NonNullable<Question["action"]> }) {
  const [state, setState] = useState<{ isDone?: boolean; error?: unknown }>({});
  if (state.isDone === true) return <p role="status">Done: the page shows the move.</p>;
  return (
    <>
      {state.error === undefined ? null : <ErrorNotice error={state.error} />}
      <button
        type="button"
        class="primary"
        onClick={() => {
          action.run().then(
            () => setState({ isDone: true }),
            (error: unknown) => setState({ error }),
          );
        }}
      >
        {action.text}
      </button>
    </>
  );
}

/** The workload as the server would store it with another number of replicas. */
async function scaled(
  client: Client,
  placement: WorkloadPlacement,
  replicas: number,
): Promise<PlannedChange> {
  return { objects: [(await scale(client, placement, replicas, true)) as never] };
}

function scale(client: Client, placement: WorkloadPlacement, replicas: number, dryRun: boolean) {
  const { group, version, kind, name, namespace } = workloadOf(placement);
  const resource = `${kind.toLowerCase()}s`;
  const type = defineResource<DynamicObject>({ group, version, resource, kind, namespaced: true });
  const patch = { type: "merge", patch: { spec: { replicas } } } as const;
  return client.resource(type).patch({ namespace, name }, patch, { dryRun });
}

function drain(client: Client, name: string) {
  const patch = { spec: { unschedulable: true, drain: {} } };
  return client.resource(syncTargets).patch({ name }, { type: "merge", patch });
}

type QuestionsProps = PlacementProps & { readonly onAsk: (question: Question) => void };

function Questions({ cluster, placement, onAsk }: QuestionsProps) {
  const client = useSession().clientIn(cluster);
  const targets = useLoaded(
    (signal) => client.resource(syncTargets).listMetadata({ limit: 500, signal }),
    cluster,
  ).result;
  const own = (placement.status?.clusters ?? []).map((one) => one.name);
  const others = (targets?.items ?? []).map(({ metadata }) => metadata.name);
  const names = [...new Set([...own, ...others])];
  const [target, setTarget] = useState("");
  const [replicas, setReplicas] = useState("");
  const chosen = target || names[0] || "";
  const about = (verb: "drain" | "loss") =>
    onAsk({
      title: verb === "drain" ? `If ${chosen} were drained` : `If ${chosen} were lost`,
      line: `kubectl kcp plan ${verb} ${chosen}`,
      plan: async () => ({ [verb]: chosen }),
      action:
        verb === "drain"
          ? { text: `Drain ${chosen}`, run: () => drain(client, chosen) }
          : undefined,
    });
  const askScale = () =>
    onAsk({
      title: `If it had ${replicas} replicas`,
      line: "kubectl kcp plan -f edited.yaml",
      plan: () => scaled(client, placement, Number(replicas)),
      action: {
        text: `Scale to ${replicas}`,
        run: () => scale(client, placement, Number(replicas), false),
      },
    });
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        Cluster
        <select value={chosen} onChange={(event) => setTarget(event.currentTarget.value)}>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <button type="button" disabled={chosen === ""} onClick={() => about("drain")}>
        were drained
      </button>
      <button type="button" disabled={chosen === ""} onClick={() => about("loss")}>
        were lost
      </button>
      <label>
        Replicas
        <input
          type="number"
          min={0}
          value={replicas}
          onInput={(event) => setReplicas(event.currentTarget.value)}
        />
      </label>
      <button type="button" disabled={!/^\d+$/.test(replicas)} onClick={askScale}>
        were so many
      </button>
    </form>
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
