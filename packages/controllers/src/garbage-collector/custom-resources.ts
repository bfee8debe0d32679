/**
 * The resources that logical clusters define themselves: one watch on the definitions of all clusters says which there are.
 *
 * Objects of one definition can only be watched in its own cluster. So a definition costs a watch, and a cluster without definitions nothing.
 */

import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { type Client, Informer, isConditionTrue, type Resource } from "@kcp-ts/sdk";
import { type CustomResourceDefinition, customResourceDefinitions } from "../api/index.ts";
import type { ResourceSource, WatchedResource } from "./resource-source.ts";

export interface CustomResourcesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** Definitions come in crowds: one change of the set for all of them. */
const gatherMs = 50;

export function customResources({
  client,
  clock,
  onError,
}: CustomResourcesOptions): ResourceSource {
  return {
    async run(signal, onChange) {
      const informer = new Informer<CustomResourceDefinition, Resource | null>({
        client,
        resource: customResourceDefinitions,
        scope: "all-clusters",
        transform: definedResource,
        onError,
        clock,
      });
      let isGathering = false;
      const tell = () => {
        isGathering = false;
        const set: WatchedResource[] = [];
        for (const [{ cluster }, resource] of informer.store.entries()) {
          if (resource !== null) set.push({ resource, scope: { cluster } });
        }
        onChange(set);
      };
      const gather = () => {
        if (isGathering) return;
        isGathering = true;
        sleep(clock, gatherMs, signal).then(tell, () => {
          // Stopped: nobody is there to tell.
        });
      };
      informer.addHandler({ added: gather, updated: gather, deleted: gather, replaced: gather });
      await informer.run(signal);
    },
  };
}

/** What a definition serves; null when it serves nothing, or not yet. */
export function definedResource({ spec, status }: CustomResourceDefinition): Resource | null {
  if (!isConditionTrue(status?.conditions, "Established")) return null;
  const served = spec.versions.filter((one) => one.served);
  const version = (served.find((one) => one.storage) ?? served[0])?.name;
  if (version === undefined) return null;
  return {
    group: spec.group,
    version,
    resource: spec.names.plural,
    kind: spec.names.kind,
    namespaced: spec.scope === "Namespaced",
  };
}

/** All that several sources name together. */
export function allResources(sources: readonly ResourceSource[]): ResourceSource {
  return {
    async run(signal, onChange) {
      const sets: (readonly WatchedResource[])[] = sources.map(() => []);
      await Promise.all(
        sources.map((source, i) =>
          source.run(signal, (set) => {
            sets[i] = set;
            onChange(sets.flat());
          }),
        ),
      );
    },
  };
}
