/** The owners of an object, and on request what it owns. */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client, PartialObjectMetadata } from "@kcp-ts/sdk/client";
import type { ApiResource } from "@kcp-ts/sdk/discovery";
import { type WorkloadPlacement, workloadPlacements } from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import { ErrorNotice, messageOf, Part, Tone } from "../elements/index.ts";
import { nameSelector, useLiveObjects, useLoaded, useResources } from "../live/index.ts";
import { formatRoute } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import type { ObjectProps } from "./object.tsx";
import { scanObjects } from "./scan-objects.ts";

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
                {`${kind} `}
                <bdi>{name}</bdi>
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
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string | undefined;
}

interface Search {
  /** By the uid of the owner. */
  readonly owned: ReadonlyMap<string, readonly Dependant[]>;
  readonly seen: number;
  /** Kinds that are asked now, or were. */
  readonly asked: number;
  readonly hidden: readonly string[];
  /** What was not looked at, in words. */
  readonly cut: readonly string[];
}

/** Of one owner. */
const shownFirst = 100;
/** Of one kind. */
const objectsMax = 20_000;

/**
 * All objects that have an owner. Of kinds of which there are very many, the first are looked at;
 * what an object in a namespace owns is in that namespace.
 */
async function searchOwned(
  client: Client,
  kinds: readonly ApiResource[],
  namespace: string | undefined,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (search: Search) => void },
): Promise<Search> {
  const owned = new Map<string, Dependant[]>();
  const [hidden, cut]: [string[], string[]] = [[], []];
  let [seen, asked] = [0, 0];
  const search = () => ({ owned, seen, asked, hidden, cut });
  for (const resource of kinds) {
    asked++;
    const onPage = (items: readonly PartialObjectMetadata[]) => {
      seen += items.length;
      for (const { metadata } of items) {
        const { name, namespace: own, uid } = metadata;
        for (const owner of metadata.ownerReferences ?? []) {
          const known = owned.get(owner.uid) ?? [];
          owned.set(owner.uid, known);
          known.push({ resource, name, namespace: own, uid });
        }
      }
      onProgress(search());
    };
    try {
      const options = { signal, namespace, objectsMax, onPage };
      const { remaining, seen: ofKind } = await scanObjects(client, resource, options);
      if (remaining > 0)
        cut.push(`${resource.resource}: the first ${ofKind} of about ${ofKind + remaining}`);
    } catch (error) {
      signal.throwIfAborted();
      if (isStatusError(error, "Forbidden")) hidden.push(resource.resource);
      else cut.push(`${resource.resource}: ${messageOf(error)}`);
    }
  }
  return search();
}

/** Every kind is asked for its metadata, so only when the user asks. */
export function Dependants({ cluster, object }: ObjectProps) {
  const client = useSession().clientIn(cluster);
  const [isAsked, setAsked] = useState(false);
  const [progress, setProgress] = useState<Search | undefined>(undefined);
  const { uid = "", namespace } = object.metadata;
  const kinds = useResources(client).result?.filter(
    ({ namespaced, kind }) => (namespaced || namespace === undefined) && kind !== "Event",
  );
  const { result, error } = useLoaded(
    (signal) => searchOwned(client, kinds ?? [], namespace, { signal, onProgress: setProgress }),
    isAsked && kinds !== undefined ? uid : undefined,
  );
  const shown = result ?? progress;
  return (
    <section class="block" aria-labelledby="dependants">
      <h2 id="dependants">Dependants</h2>
      {error === undefined ? null : <ErrorNotice error={error} />}
      {!isAsked ? (
        <button type="button" onClick={() => setAsked(true)}>
          Find what it owns
        </button>
      ) : null}
      {isAsked && result === undefined && error === undefined ? (
        <p role="status">{`Looking through kind ${progress?.asked ?? 0} of ${kinds?.length ?? 0}, ${progress?.seen ?? 0} objects…`}</p>
      ) : null}
      {shown === undefined ? null : (
        <Owned cluster={cluster} owner={uid} owned={shown.owned} above={new Set()} />
      )}
      {result === undefined ? null : <SearchResult search={result} uid={uid} />}
    </section>
  );
}

function SearchResult({ search, uid }: { readonly search: Search; readonly uid: string }) {
  const { owned, seen, asked, hidden, cut } = search;
  const found = (owned.get(uid) ?? []).length === 0 ? "It owns nothing among them. " : "";
  return (
    <>
      <p class="quiet">{`${found}${seen} objects of ${asked - hidden.length} kinds were looked at.`}</p>
      {hidden.length === 0 ? null : <p>{`You may not list ${hidden.join(", ")}.`}</p>}
      {cut.length === 0 ? null : <p role="alert">{`Not all were looked at: ${cut.join("; ")}.`}</p>}
    </>
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
  const [shownMax, setShownMax] = useState(shownFirst);
  const dependants = above.has(owner) ? [] : (owned.get(owner) ?? []);
  if (dependants.length === 0) return null;
  return (
    <ul class="owned">
      {dependants.slice(0, shownMax).map(({ resource, name, namespace, uid }) => (
        <li key={uid}>
          <a
            href={formatRoute({
              screen: "object",
              cluster,
              resource:
                resource.group === ""
                  ? resource.resource
                  : `${resource.resource}.${resource.group}`,
              namespace,
              name,
            })}
          >
            {`${resource.kind} `}
            <bdi>{name}</bdi>
          </a>
          <Owned
            cluster={cluster}
            owner={uid ?? ""}
            owned={owned}
            above={new Set([...above, owner])}
          />
        </li>
      ))}
      {dependants.length > shownMax ? (
        <li>
          <button type="button" onClick={() => setShownMax(dependants.length)}>
            {`Show ${dependants.length - shownMax} more`}
          </button>
        </li>
      ) : null}
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
  // A workspace without clusters serves no placements.
  if (live?.health.hasSynced === true && clusters.length === 0) return null;
  if (isStatusError(live?.health.lastError, "NotFound")) return null;
  return (
    <section class="block" aria-labelledby="placement">
      <h2 id="placement">Placement</h2>
      <Part of={live} what="the placement">
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
      </Part>
    </section>
  );
}
