/** Creating an object of a kind from YAML: a dry run shows what the server would store. */
import { type DynamicObject, resourcePath } from "@kcp-ts/sdk/client";
import type { ApiResource } from "@kcp-ts/sdk/discovery";
import { useState } from "preact/hooks";
import { ErrorNotice, KubectlLine, Loading, shellLine } from "../elements/index.ts";
import { accessTo, useResource } from "../live/index.ts";
import { formatRoute, goTo } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { DiffView, formatYaml, YamlField } from "../yaml-help/index.ts";
import { ActionButton } from "./action-button.tsx";
import type { ScreenProps } from "./console.tsx";

export function CreateScreen({ route: { cluster, resource: name = "" } }: ScreenProps) {
  const { result, error } = useResource(useSession().clientIn(cluster), name);
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (result === undefined) return <Loading what={name} />;
  if (result === null)
    return <ErrorNotice error={new Error(`${cluster} serves no kind of the name ${name}.`)} />;
  return <CreateForm cluster={cluster} resource={result} />;
}

function CreateForm({
  cluster,
  resource,
}: {
  readonly cluster: string;
  readonly resource: ApiResource;
}) {
  const client = useSession().clientIn(cluster);
  const { group, version, kind, namespaced } = resource;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const [namespace, setNamespace] = useState("default");
  const [text, setText] = useState(formatYaml({ apiVersion, kind, metadata: { name: "my-name" } }));
  const [trial, setTrial] = useState<DynamicObject | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const scope = namespaced ? { namespace } : {};
  const post = async (isTrial: boolean) => {
    const query = `${isTrial ? "dryRun=All&" : ""}fieldManager=kcp-console&fieldValidation=Strict`;
    const path = `${resourcePath(resource, scope)}?${query}`;
    const request = { method: "POST", path, text, contentType: "application/yaml" } as const;
    return (await client.json(request)) as unknown as DynamicObject;
  };
  const run = (isTrial: boolean, then: (object: DynamicObject) => void) => {
    setError(undefined);
    post(isTrial).then(then, setError);
  };
  const plural = group === "" ? resource.resource : `${resource.resource}.${group}`;
  const open = ({ metadata }: DynamicObject) =>
    goTo(
      formatRoute({
        screen: "object",
        cluster,
        resource: plural,
        namespace: metadata.namespace,
        name: metadata.name,
      }),
    );
  return (
    <>
      <h1>{`Create ${kind}`}</h1>
      <KubectlLine
        line={shellLine`kubectl ws :${cluster} && kubectl create -f ${resource.singular}.yaml`}
      />
      {namespaced ? (
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <label>
            Namespace
            <input value={namespace} onInput={(event) => setNamespace(event.currentTarget.value)} />
          </label>
        </form>
      ) : null}
      <div class="bar">
        <button type="button" class={trial ? "" : "primary"} onClick={() => run(true, setTrial)}>
          Review
        </button>
        <ActionButton
          client={client}
          access={accessTo(resource, "create", scope)}
          class="primary"
          isReady={trial !== undefined}
          onClick={() => run(false, open)}
        >
          Create
        </ActionButton>
      </div>
      {error === undefined ? null : <ErrorNotice error={error} />}
      <YamlField
        client={client}
        kind={resource}
        label={`YAML of the new ${kind}`}
        value={text}
        onChange={(next) => {
          setTrial(undefined);
          setText(next);
        }}
      />
      {trial === undefined ? null : (
        <DiffView
          label="What the server would add"
          before={text}
          after={formatYaml(trial as never)}
        />
      )}
    </>
  );
}
