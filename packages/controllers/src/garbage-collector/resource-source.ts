/**
 * The resources that the garbage collector watches, each by one watch over all logical clusters.
 */
import { type Clock, runTogether, sleep } from "@kcp-ts/machinery/base";
import { type Client, type Discovery, discover, formatResource, type Resource } from "@kcp-ts/sdk";
import type { CollectedResource } from "./graph-node.ts";

export interface ResourceSource {
  /** Calls back with the complete set, at once and whenever it changes, until the signal aborts. */
  run(signal: AbortSignal, onChange: (set: readonly CollectedResource[]) => void): Promise<void>;
}

export interface DiscoveredResourcesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
  readonly refreshMs?: number;
}

const refreshMsDefault = 30_000;
const retryMs = 1000;

/**
 * The resources that the server serves in every logical cluster, each by one watch over all of
 * them.
 */
export function discoveredResources(options: DiscoveredResourcesOptions): ResourceSource {
  const { client, clock, onError, refreshMs = refreshMsDefault } = options;
  const everywhere = client.inCluster("*");
  return {
    async run(signal, onChange) {
      let told = "";
      while (!signal.aborted) {
        let waitMs = refreshMs;
        try {
          const resources = collectable(await discover(everywhere, { signal }));
          const text = resources.map(formatResource).join(" ");
          if (text !== told) {
            onChange(resources);
            told = text;
          }
        } catch (error) {
          if (signal.aborted) return;
          onError(error);
          waitMs = retryMs;
        }
        await sleep(clock, waitMs, signal).catch(() => {
          // Only the signal ends the wait early, and the loop checks the signal.
        });
      }
    },
  };
}

const verbs = ["list", "watch", "delete"];
/** Events own nothing, and there are many of them. */
const ignored = new Set(["events.", "events.events.k8s.io"]);

/** Each resource once, in the version the server prefers. */
export function collectable({ groups }: Discovery): readonly Resource[] {
  const found = new Map<string, Resource>();
  for (const { versions } of groups) {
    for (const { resources } of versions) {
      for (const one of resources) {
        const name = `${one.resource}.${one.group}`;
        if (found.has(name) || ignored.has(name)) continue;
        if (verbs.every((verb) => one.verbs.includes(verb))) found.set(name, one);
      }
    }
  }
  return [...found.values()];
}

/** The union of several sources, as soon as each of them has reported its set. */
export function allResources(sources: readonly ResourceSource[]): ResourceSource {
  return {
    async run(signal, onChange) {
      const sets = new Map<ResourceSource, readonly CollectedResource[]>();
      const run = (source: ResourceSource) => (stop: AbortSignal) =>
        source.run(stop, (set) => {
          sets.set(source, set);
          if (sets.size === sources.length) onChange(eachOnce([...sets.values()].flat()));
        });
      await runTogether(signal, sources.map(run));
    },
  };
}

/** Some clusters may define a resource that others export; it is watched once. */
function eachOnce(resources: readonly CollectedResource[]): readonly CollectedResource[] {
  const found = new Map<string, CollectedResource>();
  for (const one of resources) {
    const name = `${one.resource}.${one.group}`;
    if (!found.has(name)) found.set(name, one);
  }
  return [...found.values()];
}
