/** What would be if: asked of the server, shown as before and after, and done by a button. */
import type { Client, DynamicObject } from "@kcp-ts/sdk/client";
import type { ApiResource } from "@kcp-ts/sdk/discovery";
import { syncTargets, type WorkloadPlacement } from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import { ErrorNotice, KubectlLine, Loading, shellLine } from "../elements/index.ts";
import { type Access, accessTo, useLoaded, useResource } from "../live/index.ts";
import { useSession } from "../session/index.ts";
import { ActionButton } from "./action-button.tsx";
import { type PlannedChange, planChange, workloadOf } from "./placement-review.ts";
import { PlanView } from "./plan-view.tsx";
import { useNames } from "./use-names.ts";
import { Weights } from "./weights.tsx";

export interface Question {
  readonly title: string;
  readonly line: string;
  readonly plan: () => Promise<PlannedChange>;
  /** What the question asks about, done. Undefined where nothing can be done: a loss happens. */
  readonly action?: Action | undefined;
}

interface Action {
  readonly text: string;
  readonly access: Access;
  readonly run: () => Promise<unknown>;
}

interface WhatIfProps {
  readonly cluster: string;
  readonly placement: WorkloadPlacement;
}

export function WhatIf({ cluster, placement }: WhatIfProps) {
  const client = useSession().clientIn(cluster);
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
      <p class="quiet">The server answers from its own scheduler. Nothing is changed by asking.</p>
      <div class="questions">
        <ClusterQuestions cluster={cluster} placement={placement} onAsk={ask} />
        <ScaleQuestion cluster={cluster} placement={placement} onAsk={ask} />
        <Weights cluster={cluster} onAsk={ask} />
      </div>
      {question === undefined ? null : (
        <div class="answer">
          <h3>{question.title}</h3>
          {error !== undefined ? <ErrorNotice error={error} /> : null}
          {result !== undefined ? <PlanView plan={result} about={placement} /> : null}
          {result === undefined && error === undefined ? <Loading what="the plan" /> : null}
          {result !== undefined && question.action !== undefined ? (
            <DoIt key={asked} client={client} action={question.action} />
          ) : null}
          <KubectlLine line={question.line} />
        </div>
      )}
    </section>
  );
}

/** A button that does what was asked about, after its answer is seen. */
function DoIt({ client, action }: { readonly client: Client; readonly action: Action }) {
  const [state, setState] = useState<{ isDone?: boolean; error?: unknown }>({});
  if (state.isDone === true) return <p role="status">Done: the page shows the move.</p>;
  return (
    <>
      {state.error === undefined ? null : <ErrorNotice error={state.error} />}
      <ActionButton
        client={client}
        access={action.access}
        class="primary"
        onClick={() => {
          action.run().then(
            () => setState({ isDone: true }),
            (error: unknown) => setState({ error }),
          );
        }}
      >
        {action.text}
      </ActionButton>
    </>
  );
}

function drain(client: Client, name: string) {
  const patch = { spec: { unschedulable: true, drain: {} } };
  return client.resource(syncTargets).patch({ name }, { type: "merge", patch });
}

const everyTarget = { text: "", matches: () => true, wanted: Number.POSITIVE_INFINITY };

type QuestionsProps = WhatIfProps & { readonly onAsk: (question: Question) => void };

function ClusterQuestions({ cluster, placement, onAsk }: QuestionsProps) {
  const client = useSession().clientIn(cluster);
  const targets = useNames({ client, resource: syncTargets, search: everyTarget });
  const own = (placement.status?.clusters ?? []).map((one) => one.name);
  const others = targets.names.map(({ name }) => name);
  const names = [...new Set([...own, ...others])];
  const [target, setTarget] = useState("");
  const chosen = target || names[0] || "";
  const about = (verb: "drain" | "loss") =>
    onAsk({
      title: verb === "drain" ? `If ${chosen} were drained` : `If ${chosen} were lost`,
      line: shellLine`kubectl kcp plan ${verb} ${chosen}`,
      plan: async () => ({ [verb]: chosen }),
      action:
        verb === "drain"
          ? {
              text: `Drain ${chosen}`,
              access: accessTo(syncTargets, "patch", { name: chosen }),
              run: () => drain(client, chosen),
            }
          : undefined,
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
        If drained
      </button>
      <button type="button" disabled={chosen === ""} onClick={() => about("loss")}>
        If lost
      </button>
      {targets.error === undefined ? null : (
        <span class="quiet">You may not list other clusters.</span>
      )}
    </form>
  );
}

/** Only of workloads with `spec.replicas`: others run once, or on each node. */
function ScaleQuestion({ cluster, placement, onAsk }: QuestionsProps) {
  const client = useSession().clientIn(cluster);
  const { type, kind, name, namespace } = workloadOf(placement);
  const [replicas, setReplicas] = useState("");
  const resource = useResource(client, type).result ?? undefined;
  const target = { namespace, name };
  const { result: workload, error } = useLoaded(
    async (signal) =>
      (await client.resource(resource as ApiResource).get(target, { signal })) as DynamicObject,
    resource && `${cluster} ${type} ${namespace}/${name}`,
  );
  const spec = workload?.["spec"] as { readonly replicas?: number } | undefined;
  if (error !== undefined) return <ErrorNotice error={error} what="the workload, to scale it" />;
  if (resource === undefined || workload === undefined) return null;
  if (spec?.replicas === undefined)
    return <p class="quiet">{`A ${kind} has no number of replicas to change.`}</p>;
  const isNumber = /^\d+$/.test(replicas);
  const ask = (event: Event) => {
    event.preventDefault();
    if (!isNumber) return;
    onAsk({
      title: `If it had ${replicas} replicas`,
      line: "kubectl kcp plan -f edited.yaml",
      plan: async () => {
        const changed = { ...workload, spec: { ...spec, replicas: Number(replicas) } };
        return { objects: [changed as never] };
      },
      action: {
        text: `Scale to ${replicas}`,
        access: accessTo(resource, "patch", target),
        run: () => {
          const patch = { spec: { replicas: Number(replicas) } } as never;
          return client.resource(resource).patch(target, { type: "merge", patch });
        },
      },
    });
  };
  return (
    <form class="filters" onSubmit={ask}>
      <label>
        Replicas
        <input
          type="number"
          min={0}
          value={replicas}
          placeholder={String(placement.status?.replicas?.desired ?? "")}
          onInput={(event) => setReplicas(event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={!isNumber}>
        If scaled
      </button>
    </form>
  );
}
