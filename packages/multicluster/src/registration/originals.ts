/** Objects of the logical cluster that a SyncTarget holds: something of them is in its cluster, or may be. */
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import { apiResourceImports, registrationFieldManager, syncerFinalizer } from "../api/index.ts";
import { releasePatch } from "../syncer/index.ts";

export interface HeldOriginal {
  readonly object: KubernetesObject;
  /** Lets it go: what is in the cluster stays there, and belongs to nobody. */
  release(): Promise<void>;
}

/** Of all APIs that the cluster lends. One by one: there may be many. */
export async function* heldOriginals(
  client: Client,
  target: string,
  signal: AbortSignal,
): AsyncGenerator<HeldOriginal> {
  const finalizer = syncerFinalizer(target);
  for await (const page of client.resource(apiResourceImports).pages({ signal })) {
    for (const { spec } of page.items) {
      if (spec.location !== target) continue;
      const { groupVersion, plural, kind, scope } = spec;
      const { group = "", version } = groupVersion;
      const resource = client.resource(
        defineResource<KubernetesObject>({
          group: group === "core" ? "" : group,
          version,
          resource: plural,
          kind,
          namespaced: scope === "Namespaced",
        }),
      );
      try {
        for await (const { items } of resource.pages({ signal })) {
          for (const object of items) {
            const { metadata } = object;
            if (metadata.finalizers?.includes(finalizer) !== true) continue;
            const patch = releasePatch(metadata, target);
            const release = async () => {
              if (patch === undefined) return;
              const { name, namespace } = metadata;
              const at = namespace === undefined ? { name } : { name, namespace };
              try {
                const options = { fieldManager: registrationFieldManager, signal };
                await resource.patch(at, { type: "merge", patch }, options);
              } catch (error) {
                if (!isStatusError(error, "NotFound")) throw error;
              }
            };
            yield { object, release };
          }
        }
      } catch (error) {
        // An API that is not served here has no objects.
        if (!isStatusError(error, "NotFound")) throw error;
      }
    }
  }
}

/** One of them, for people to read. */
export async function leftoverOf(
  client: Client,
  target: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  for await (const { object } of heldOriginals(client, target, signal)) {
    const { namespace = "", name } = object.metadata;
    return `${object.kind ?? "the object"} ${namespace}/${name}`;
  }
  return undefined;
}
