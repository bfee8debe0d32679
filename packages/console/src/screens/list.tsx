/** The list of any kind: filters are in the address, what is selected can be deleted. */
import type { ApiResource } from "@kcp-ts/sdk/discovery";
import type { LiveTableRow } from "@kcp-ts/sdk/informer";
import { useState } from "preact/hooks";
import { ErrorNotice, KubectlLine, Loading, shellLine } from "../elements/index.ts";
import { accessTo, useAccess, useResource } from "../live/index.ts";
import { formatRoute, setQuery } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import type { ScreenProps } from "./console.tsx";
import { lazily } from "./lazily.tsx";
import { ObjectTable } from "./object-table.tsx";

const DeleteSelected = lazily(async () => (await import("./bulk-dialogs.tsx")).DeleteSelected);
const LabelSelected = lazily(async () => (await import("./bulk-dialogs.tsx")).LabelSelected);

export function ListScreen({ route }: ScreenProps) {
  const { cluster, resource: name = "" } = route;
  const client = useSession().clientIn(cluster === "*" ? "root" : cluster);
  const { result, error } = useResource(client, name);
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (result === undefined) return <Loading what={name} />;
  if (result === null)
    return <ErrorNotice error={new Error(`${cluster} serves no kind of the name ${name}.`)} />;
  return <KindList route={route} resource={result} />;
}

type KindListProps = ScreenProps & { readonly resource: ApiResource };

function KindList({ route: { cluster, query }, resource }: KindListProps) {
  const client = useSession().clientIn(cluster);
  const [selected, setSelected] = useState<ReadonlyMap<string, LiveTableRow>>(new Map());
  const [bulk, setBulk] = useState<"delete" | "label" | undefined>(undefined);
  const { group } = resource;
  const plural = group === "" ? resource.resource : `${resource.resource}.${group}`;
  const may = (verb: string) =>
    useAccess(client, accessTo(resource, verb, { namespace: query["ns"] })).isAllowed;
  const [mayDelete, mayPatch, mayCreate] = [may("delete"), may("patch"), may("create")];
  const isOne = cluster !== "*";
  const BulkDialog = bulk === "label" ? LabelSelected : DeleteSelected;
  const toggle = (row: LiveTableRow) => {
    const next = new Map(selected);
    if (!next.delete(row.key)) next.set(row.key, row);
    setSelected(next);
  };
  return (
    <>
      <header class="title">
        <h1>{resource.kind}</h1>
        {mayPatch && selected.size > 0 ? (
          <button type="button" onClick={() => setBulk("label")}>
            {`Label ${selected.size}…`}
          </button>
        ) : null}
        {mayDelete && selected.size > 0 ? (
          <button type="button" class="danger" onClick={() => setBulk("delete")}>
            {`Delete ${selected.size}…`}
          </button>
        ) : null}
        {isOne && mayCreate && !isOfScheduler(resource) && resource.verbs.includes("create") ? (
          <a class="button" href={formatRoute({ screen: "create", cluster, resource: plural })}>
            Create
          </a>
        ) : null}
      </header>
      <KubectlLine line={kubectlGet(cluster, plural, resource.namespaced, query)} />
      <Filters query={query} isNamespaced={resource.namespaced} />
      <section class="fill">
        <ObjectTable
          cluster={cluster}
          resource={resource}
          query={query}
          selection={
            isOne && (mayDelete || mayPatch)
              ? { keys: new Set(selected.keys()), toggle }
              : undefined
          }
          empty={{
            what: `There is no ${resource.kind} here${Object.keys(query).length > 0 ? " that these filters select" : ""}.`,
            next: nextStep(resource),
          }}
        />
      </section>
      {bulk === undefined ? null : (
        <BulkDialog
          cluster={cluster}
          resource={resource}
          rows={[...selected.values()]}
          onClose={() => {
            setBulk(undefined);
            setSelected(new Map());
          }}
        />
      )}
    </>
  );
}

/** The scheduler writes placements: the next step of a person is a workload. */
function isOfScheduler({ resource }: ApiResource): boolean {
  return resource === "workloadplacements";
}

function nextStep(resource: ApiResource): string {
  return isOfScheduler(resource)
    ? "kubectl create deployment web --image=nginx --replicas=4"
    : shellLine`kubectl create -f ${resource.singular}.yaml`;
}

function kubectlGet(
  cluster: string,
  plural: string,
  isNamespaced: boolean,
  { ns = "", labels = "", fields = "" }: Readonly<Record<string, string>>,
): string {
  const flags = [
    ...(isNamespaced ? (ns === "" ? ["-A"] : ["-n", ns]) : []),
    ...(labels === "" ? [] : ["-l", labels]),
    ...(fields === "" ? [] : ["--field-selector", fields]),
  ];
  return cluster === "*"
    ? shellLine`kubectl get ${plural} --server "$SERVER/clusters/*" ${flags}`
    : shellLine`kubectl ws :${cluster} && kubectl get ${plural} ${flags}`;
}

function Filters({
  query,
  isNamespaced,
}: {
  query: Readonly<Record<string, string>>;
  isNamespaced: boolean;
}) {
  const fields = [
    ...(isNamespaced ? [["ns", "Namespace", "all"] as const] : []),
    ["name", "Name contains", ""] as const,
    ["labels", "Labels", "app=web"] as const,
    ["fields", "Fields", "metadata.name=web"] as const,
  ];
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {fields.map(([key, label, placeholder]) => (
        <label key={key}>
          {label}
          <input
            value={query[key] ?? ""}
            placeholder={placeholder}
            onChange={(event) => setQuery({ [key]: event.currentTarget.value.trim() })}
          />
        </label>
      ))}
      <label class="check">
        <input
          type="checkbox"
          checked={query["wrong"] === "true"}
          onChange={(event) => setQuery({ wrong: event.currentTarget.checked ? "true" : "" })}
        />
        Only what is wrong
      </label>
    </form>
  );
}
