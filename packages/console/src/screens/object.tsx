/** One object: how it is first, then what happened, what it belongs to, and its YAML. */
import type { DynamicObject } from "@kcp-ts/sdk/client";
import type { ApiResource } from "@kcp-ts/sdk/discovery";
import { useState } from "preact/hooks";
import {
  ageText,
  type Condition,
  ConditionList,
  ErrorNotice,
  Field,
  KubectlLine,
  Loading,
  LongText,
  Part,
  shellLine,
  Tabs,
  Tone,
} from "../elements/index.ts";
import { accessTo, nameSelector, now, useLiveObjects, useResource } from "../live/index.ts";
import { formatRoute, goTo, route as place, setQuery } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { ActionButton } from "./action-button.tsx";
import type { ScreenProps } from "./console.tsx";
import { DeleteObject } from "./delete-object.tsx";
import { Editor } from "./editor.tsx";
import { Events } from "./events.tsx";
import { Dependants, Owners, PlacementSummary } from "./relations.tsx";

export function ObjectScreen({ route }: ScreenProps) {
  const { cluster, resource: name = "" } = route;
  const { result, error } = useResource(useSession().clientIn(cluster), name);
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (result === undefined) return <Loading what={name} />;
  if (result === null)
    return <ErrorNotice error={new Error(`${cluster} serves no kind of the name ${name}.`)} />;
  return <OneObject route={route} resource={result} />;
}

export interface ObjectProps {
  readonly cluster: string;
  readonly resource: ApiResource;
  readonly object: DynamicObject;
}

const tabs = [
  ["", "Overview"],
  ["yaml", "YAML"],
] as const;

function OneObject({ route, resource }: ScreenProps & { readonly resource: ApiResource }) {
  const { cluster, name = "", query } = route;
  const namespace = resource.namespaced ? route.namespace : undefined;
  const client = useSession().clientIn(cluster);
  const live = useLiveObjects<DynamicObject>(client, resource as never, {
    namespace,
    fieldSelector: nameSelector(name),
  });
  const object = live?.objects[0];
  const title = [namespace, name].filter(Boolean).join("/");
  const flags = namespace === undefined ? [] : ["-n", namespace];
  const kind = resource.group === "" ? resource.resource : `${resource.resource}.${resource.group}`;
  const line = shellLine`kubectl ws :${cluster} && kubectl get ${kind} ${flags} ${name} -o yaml`;
  return (
    <>
      <header class="title">
        <h1>
          <a href={formatRoute({ screen: "list", cluster, resource: kind })}>{resource.kind}</a>{" "}
          <span dir="auto">{title}</span>
        </h1>
        {object === undefined ? null : (
          <Actions cluster={cluster} resource={resource} object={object} />
        )}
      </header>
      <KubectlLine line={line} />
      <Tabs
        label={title}
        tabs={tabs}
        chosen={query["tab"] ?? ""}
        onChoose={(tab) => setQuery({ tab })}
      >
        {object === undefined ? (
          <Part of={live} what={`${resource.kind} ${title}`}>
            <ErrorNotice
              error={new Error(`${resource.kind} ${title} does not exist, or no longer does.`)}
            />
          </Part>
        ) : query["tab"] === "yaml" ? (
          <Editor key={object.metadata.uid} cluster={cluster} resource={resource} object={object} />
        ) : (
          <Overview cluster={cluster} resource={resource} object={object} />
        )}
      </Tabs>
    </>
  );
}

const workloadKinds = new Set(["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"]);

function nameOf({ group, resource }: ApiResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}

function selectsPods(object: DynamicObject): boolean {
  const { selector } = (object["spec"] ?? {}) as { selector?: { matchLabels?: object } };
  return (
    object.kind !== "Pod" &&
    typeof selector?.matchLabels === "object" &&
    workloadKinds.has(object.kind ?? "")
  );
}

function Actions({ cluster, resource, object }: ObjectProps) {
  const client = useSession().clientIn(cluster);
  const [isDeleting, setDeleting] = useState(false);
  const { name, namespace } = object.metadata;
  const { kind } = resource;
  const placement = `${kind.toLowerCase()}-${name}`;
  return (
    <>
      {kind === "Pod" || selectsPods(object) ? (
        <a
          class="button"
          href={formatRoute({
            screen: "logs",
            cluster,
            resource: nameOf(resource),
            namespace,
            name,
          })}
        >
          Logs
        </a>
      ) : null}
      {kind === "Pod" ? (
        <a class="button" href={formatRoute({ screen: "shell", cluster, namespace, name })}>
          Shell
        </a>
      ) : null}
      {workloadKinds.has(kind) ? (
        <a
          class="button"
          href={formatRoute({ screen: "placement", cluster, namespace, name: placement })}
        >
          Placement
        </a>
      ) : null}
      <ActionButton
        client={client}
        access={accessTo(resource, "delete", object.metadata)}
        class="danger"
        onClick={() => setDeleting(true)}
      >
        Delete…
      </ActionButton>
      {isDeleting ? (
        <DeleteObject
          cluster={cluster}
          resource={resource}
          object={object}
          onClose={() => setDeleting(false)}
          onDeleted={() => {
            const { resource: listed } = place.value ?? {};
            goTo(formatRoute({ screen: "list", cluster, resource: listed }));
          }}
        />
      ) : null}
    </>
  );
}

function Overview(props: ObjectProps) {
  const { object } = props;
  const { metadata } = object;
  const status = (object["status"] ?? {}) as Readonly<Record<string, unknown>>;
  const conditions = Array.isArray(status["conditions"])
    ? (status["conditions"] as Condition[])
    : [];
  const facts = Object.entries(status).filter(([, value]) => typeof value !== "object");
  return (
    <>
      <section class="block" aria-labelledby="status">
        <h2 id="status">Status</h2>
        <dl class="fields">
          {metadata.deletionTimestamp === undefined ? null : (
            <Field name="Deleted">
              <Tone word="Terminating" tone="warn" />
              {` since ${ageText(metadata.deletionTimestamp, now.value)}; finalizers: ${(metadata.finalizers ?? []).join(", ") || "none"}`}
            </Field>
          )}
          {facts.map(([name, value]) => (
            <Field key={name} name={name}>
              {String(value).length < 100 ? (
                <Tone word={String(value)} />
              ) : (
                <LongText text={String(value)} />
              )}
            </Field>
          ))}
          <Field name="Age">{ageText(metadata.creationTimestamp, now.value)}</Field>
        </dl>
        {conditions.length > 0 ? (
          <ConditionList conditions={conditions} nowMs={now.value} />
        ) : facts.length === 0 ? (
          <p class="quiet">This object has no status.</p>
        ) : null}
      </section>
      {workloadKinds.has(props.resource.kind) ? <PlacementSummary {...props} /> : null}
      <Events {...props} />
      <section class="block" aria-labelledby="metadata">
        <h2 id="metadata">Metadata</h2>
        <dl class="fields">
          <Field name="Labels">
            <Pairs pairs={metadata.labels} />
          </Field>
          <Field name="Annotations">
            <Pairs pairs={metadata.annotations} />
          </Field>
          <Field name="UID">
            <code>{metadata.uid}</code>
          </Field>
          {metadata.generation === undefined ? null : (
            <Field name="Generation">{metadata.generation}</Field>
          )}
        </dl>
      </section>
      <Owners {...props} />
      <Dependants {...props} />
    </>
  );
}

function Pairs({ pairs = {} }: { readonly pairs?: Readonly<Record<string, string>> | undefined }) {
  const entries = Object.entries(pairs);
  if (entries.length === 0) return <span class="quiet">none</span>;
  return (
    <ul class="pairs">
      {entries.map(([key, value]) => (
        <li key={key}>
          <code>{key}</code>
          <span>
            <LongText text={value} charactersMax={200} />
          </span>
        </li>
      ))}
    </ul>
  );
}
