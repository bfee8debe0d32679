/** The owners of an object, and on request what it owns. */
import type { PartialObjectMetadata } from "@kcp-ts/sdk/client";
import type { ApiResource } from "@kcp-ts/sdk/discovery";
import { useState } from "preact/hooks";
import { ErrorNotice } from "../elements/index.ts";
import { useLoaded, useResources } from "../live/index.ts";
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

/** Every kind is asked for its metadata, so only when the user asks. */
export function Dependants({ cluster, object }: ObjectProps) {
  const client = useSession().clientIn(cluster);
  const [isAsked, setAsked] = useState(false);
  const kinds = useResources(client).result;
  const { uid, namespace } = object.metadata;
  const { result, error } = useLoaded(
    async (signal) => {
      const found: Dependant[] = [];
      for (const resource of kinds ?? []) {
        if (namespace !== undefined && !resource.namespaced) continue;
        if (resource.kind === "Event") continue;
        const scope = namespace === undefined ? {} : { namespace };
        const list = await client
          .resource(resource)
          .listMetadata({ ...scope, limit: perKindMax, signal })
          // A kind that the user may not list has no dependants that the user may see.
          .catch(() => ({ items: [] as readonly PartialObjectMetadata[] }));
        for (const { metadata } of list.items)
          if (metadata.ownerReferences?.some((one) => one.uid === uid))
            found.push({ resource, metadata });
      }
      return found;
    },
    isAsked && kinds !== undefined ? String(uid) : undefined,
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
      ) : result.length === 0 ? (
        <p class="quiet">It owns nothing that you may see.</p>
      ) : (
        <ul class="names">
          {result.map(({ resource, metadata }) => (
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
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
