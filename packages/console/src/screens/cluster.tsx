/** One physical cluster: health, capacity, what is synced; cordon, drain and undo. */
import { type SyncTarget, syncTargets } from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import {
  type Condition,
  ConditionList,
  Dialog,
  ErrorNotice,
  Field,
  KubectlLine,
  Loading,
  Part,
  shellLine,
  Tone,
} from "../elements/index.ts";
import { accessTo, nameSelector, now, useLiveObjects, useLoaded } from "../live/index.ts";
import { type Route, useDialog } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { ActionButton } from "./action-button.tsx";
import { ClusterApis, ClusterLeases } from "./cluster-apis.tsx";
import { Share } from "./clusters.tsx";
import type { ScreenProps } from "./console.tsx";
import { Events } from "./events.tsx";
import { planChange } from "./placement-review.ts";
import { PlanView } from "./plan-view.tsx";

export function ClusterScreen({ route: { cluster, name = "", query } }: ScreenProps) {
  const client = useSession().clientIn(cluster);
  const selector = { fieldSelector: nameSelector(name) };
  const live = useLiveObjects<SyncTarget>(client, syncTargets, selector);
  const target = live?.objects[0];
  return (
    <>
      <header class="title">
        <h1>{`Cluster ${name}`}</h1>
        {target === undefined ? null : <Actions cluster={cluster} target={target} query={query} />}
      </header>
      <KubectlLine
        line={shellLine`kubectl ws :${cluster} && kubectl describe synctarget ${name}`}
      />
      {target !== undefined ? (
        <Target cluster={cluster} target={target} />
      ) : (
        <Part of={live} what="the cluster">
          <ErrorNotice error={new Error(`SyncTarget ${name} does not exist, or no longer does.`)} />
        </Part>
      )}
    </>
  );
}

interface TargetProps {
  readonly cluster: string;
  readonly target: SyncTarget;
}

function Target({ cluster, target }: TargetProps) {
  const { spec = {}, status = {} } = target;
  const { allocatable = {}, reserved = {}, syncedResources = [] } = status;
  const resources = [...new Set([...Object.keys(allocatable), ...Object.keys(reserved)])].sort();
  return (
    <>
      <section class="block" aria-labelledby="state">
        <h2 id="state">State</h2>
        <dl class="fields">
          <Field name="Status">
            <Tone word={status.state ?? "Unknown"} />
          </Field>
          <Field name="Version">{status.version ?? "not reported"}</Field>
          <Field name="Mode">{spec.mode ?? "Push"}</Field>
          <Field name="Synced">{`${syncedResources.length} kinds`}</Field>
        </dl>
        <ConditionList
          conditions={(status.conditions ?? []) as Condition[]}
          nowMs={now.value}
          isBrief
        />
      </section>
      {spec.drain === undefined ? null : <Drain target={target} />}
      <section class="block" aria-labelledby="capacity">
        <h2 id="capacity">Capacity: reserved of what may be used</h2>
        <dl class="fields">
          {resources.map((resource) => (
            <Field key={resource} name={resource}>
              <Share target={target} resource={resource} />
            </Field>
          ))}
        </dl>
      </section>
      <ClusterApis cluster={cluster} name={target.metadata.name} />
      <ClusterLeases cluster={cluster} uid={target.metadata.uid ?? ""} />
      <Events cluster={cluster} object={target as never} />
    </>
  );
}

function Drain({ target: { metadata, status = {} } }: { readonly target: SyncTarget }) {
  const { drain } = status;
  const drained = status.conditions?.find(({ type }) => type === "Drained");
  const { moved = 0, total = 0, remainingReplicas = 0, blocked = [] } = drain ?? {};
  return (
    <section class="block" aria-labelledby="drain">
      <h2 id="drain">Drain</h2>
      <p role="status">
        {drained?.status === "True"
          ? `Drained: ${drained.message ?? ""}`
          : `${moved} of ${total} workloads have left, ${remainingReplicas} replicas are still there. ${drained?.message ?? ""}`}
      </p>
      <progress
        max={Math.max(1, total)}
        value={drained?.status === "True" ? Math.max(1, total) : moved}
      >
        {`${moved} of ${total}`}
      </progress>
      {blocked.length === 0 ? null : (
        <>
          <h3>What cannot leave by itself</h3>
          <ul class="names">
            {blocked.map(({ kind, namespace, name, reason, message }) => (
              <li key={`${kind} ${namespace} ${name}`}>
                <Tone word={`${kind} ${namespace ?? ""}/${name}: ${reason}`} tone="warn" />
                <span>{message}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      <KubectlLine line={shellLine`kubectl kcp uncordon ${metadata.name}`} />
    </section>
  );
}

/** Cordon keeps new work away; drain moves work away; uncordon takes both back. */
function Actions({ cluster, target, query }: TargetProps & Pick<Route, "query">) {
  const client = useSession().clientIn(cluster);
  const [isDraining, setDraining] = useDialog(query, "drain");
  const [error, setError] = useState<unknown>(undefined);
  const { name } = target.metadata;
  const { unschedulable = false, drain } = target.spec ?? {};
  const patch = (spec: object) => {
    setError(undefined);
    return client
      .resource(syncTargets)
      .patch({ name }, { type: "merge", patch: { spec } as never })
      .then(() => setDraining(false), setError);
  };
  const isLeaving = unschedulable || drain !== undefined;
  const button = (text: string, onClick: () => void) => (
    <ActionButton
      client={client}
      access={accessTo(syncTargets, "patch", { name })}
      onClick={onClick}
    >
      {text}
    </ActionButton>
  );
  return (
    <>
      {error === undefined ? null : <ErrorNotice error={error} />}
      {isLeaving
        ? button("Uncordon", () => {
            patch({ unschedulable: false, drain: null }).catch(setError);
          })
        : button("Cordon", () => {
            patch({ unschedulable: true }).catch(setError);
          })}
      {drain === undefined ? button("Drain…", () => setDraining(true)) : null}
      {isDraining ? (
        <DrainDialog
          cluster={cluster}
          name={name}
          onClose={() => setDraining(false)}
          onDrain={() => {
            patch({ unschedulable: true, drain: {} }).catch(setError);
          }}
        />
      ) : null}
    </>
  );
}

interface DrainDialogProps {
  readonly cluster: string;
  readonly name: string;
  readonly onClose: () => void;
  readonly onDrain: () => void;
}

function DrainDialog({ cluster, name, onClose, onDrain }: DrainDialogProps) {
  const client = useSession().clientIn(cluster);
  const { result, error } = useLoaded(() => planChange(client, { drain: name }), name);
  return (
    <Dialog title={`Drain ${name}`} onClose={onClose} isWide>
      {error === undefined ? null : <ErrorNotice error={error} />}
      {result === undefined && error === undefined ? <Loading what="what would move" /> : null}
      {result === undefined ? null : <PlanView plan={result} />}
      <KubectlLine line={shellLine`kubectl kcp drain ${name}`} />
      <footer>
        <ActionButton
          client={client}
          access={accessTo(syncTargets, "patch", { name })}
          class="primary"
          onClick={onDrain}
        >
          Drain
        </ActionButton>
      </footer>
    </Dialog>
  );
}
