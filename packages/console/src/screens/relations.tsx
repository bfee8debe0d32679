/** The owners of an object, and on request what it owns. */
import type { Client, PartialObjectMetadata } from "@kcp-ts/sdk/client";
import type { ApiResource } from "@kcp-ts/sdk/discovery";
import { type WorkloadPlacement, workloadPlacements } from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import { ErrorNotice, Tone } from "../elements/index.ts";
import { nameSelector, useLiveObjects, useLoaded, useResources } from "../live/index.ts";
import { formatRoute } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import type { ObjectProps } from "./object.tsx";

export function Owners({ cluster, object }: ObjectProps) {
  const { ownerReferences = [], namespace } = object.metadata;
  if (ownerReferences.length === 0) return null;
  return (
    <section class="block" aria-labelledby="owners">
      <h2 id="owners">Owners</h2>
      <ul class="names">
        {ownerReferences.map(({ apiVersion, kind, name, uid }) => {
          const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
          const resource = group === "" ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
          return (
            <li key={uid}>
              <a href={formatRoute({ screen: "object", cluster, resource, namespace, name })}>
                {`${kind} ${name}`}
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

interface Dependant {
  readonly resource: ApiResource;
  readonly metadata: PartialObjectMetadata["metadata"];
}

/** Per kind: more would load what no page shows. */
const perKindMax = 500;

/** All objects that have an owner, by the uid of each owner. */
async function ownedObjects(
  client: Client,
  kinds: readonly ApiResource[],
  isNamespaced: boolean,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly Dependant[]>> {
  const owned = new Map<string, Dependant[]>();
  for (const resource of kinds) {
    if ((isNamespaced && !resource.namespaced) || resource.kind === "Event") continue;
    const list = await client
      .resource(resource)
      .listMetadata({ limit: perKindMax, signal })
      // A kind that the user may not list has no dependants that the user may see.
      .catch(() => ({ items: [] as readonly PartialObjectMetadata[] }));
    for (const { metadata } of list.items)
      for (const { uid } of metadata.ownerReferences ?? [])
        owned.set(uid, [...(owned.get(uid) ?? []), { resource, metadata }]);
  }
  return owned;
}

/** Every kind is asked for its metadata, so only when the user asks. */
export function Dependants({ cluster, object }: ObjectProps) {
  const client = useSession().clientIn(cluster);
  const [isAsked, setAsked] = useState(false);
  const kinds = useResources(client).result;
  const { uid = "", namespace } = object.metadata;
  const { result, error } = useLoaded(
    (signal) => ownedObjects(client, kinds ?? [], namespace !== undefined, signal),
    isAsked && kinds !== undefined ? uid : undefined,
  );
  return (
    <section class="block" aria-labelledby="dependants">
      <h2 id="dependants">Dependants</h2>
      {error === undefined ? null : <ErrorNotice error={error} />}
      {!isAsked ? (
        <button type="button" onClick={() => setAsked(true)}>
          Find what it owns
        </button>
      ) : result === undefined ? (
        <p role="status">Asking every kind…</p>
      ) : (result.get(uid) ?? []).length === 0 ? (
        <p class="quiet">It owns nothing that you may see.</p>
      ) : (
        <Owned cluster={cluster} owner={uid} owned={result} above={new Set()} />
      )}
    </section>
  );
}

interface OwnedProps {
  readonly cluster: string;
  readonly owner: string;
  readonly owned: ReadonlyMap<string, readonly Dependant[]>;
  /** Owners above: owners in a circle end there. */
  readonly above: ReadonlySet<string>;
}

function Owned({ cluster, owner, owned, above }: OwnedProps) {
  const dependants = above.has(owner) ? [] : (owned.get(owner) ?? []);
  if (dependants.length === 0) return null;
  return (
    <ul class="owned">
      {dependants.map(({ resource, metadata }) => (
        <li key={metadata.uid}>
          <a
            href={formatRoute({
              screen: "object",
              cluster,
              resource:
                resource.group === ""
                  ? resource.resource
                  : `${resource.resource}.${resource.group}`,
              namespace: metadata.namespace,
              name: metadata.name,
            })}
          >
            {`${resource.kind} ${metadata.name}`}
          </a>
          <Owned
            cluster={cluster}
            owner={metadata.uid ?? ""}
            owned={owned}
            above={new Set([...above, owner])}
          />
        </li>
      ))}
    </ul>
  );
}

/** Where the workload is, in one line for each cluster. */
export function PlacementSummary({ cluster, object }: ObjectProps) {
  const { name, namespace } = object.metadata;
  const placement = `${(object.kind ?? "").toLowerCase()}-${name}`;
  const live = useLiveObjects<WorkloadPlacement>(
    useSession().clientIn(cluster),
    workloadPlacements,
    { namespace, fieldSelector: nameSelector(placement) },
  );
  const clusters = live?.objects[0]?.status?.clusters ?? [];
  if (clusters.length === 0) return null;
  return (
    <section class="block" aria-labelledby="placement">
      <h2 id="placement">Placement</h2>
      <ul class="names">
        {clusters.map(({ name: target, ready = 0, desired = 0, phase = "", reason = "" }) => (
          <li key={target}>
            <a href={formatRoute({ screen: "cluster", cluster, name: target })}>{target}</a>
            <Tone word={`${ready}/${desired}`} />
            <span class="quiet">{[phase, reason].filter(Boolean).join(": ")}</span>
          </li>
        ))}
      </ul>
      <a href={formatRoute({ screen: "placement", cluster, namespace, name: placement })}>
        Why, and what if
      </a>
    </section>
  );
}
