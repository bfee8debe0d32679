/**
 * The custom resources of logical clusters: one watch on the CRDs of all clusters lists them.
 *
 * Objects of a resource are watched by their metadata in all clusters together, whichever clusters
 * define it. So a resource costs one watch for any number of clusters, and of a CRD only its name
 * is kept.
 */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { type Client, type Resource, StorelessInformer } from "@kcp-ts/sdk";
import { apiResourceSchemas, customResourceDefinitions } from "../api/index.ts";
import type { CollectedResource } from "./graph-node.ts";
import { metadataClient } from "./metadata-client.ts";
import type { ResourceSource } from "./resource-source.ts";

export interface CustomResourcesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** CRDs come in bursts: one change of the set serves all of them. */
const gatherMs = 50;

export function customResources(options: CustomResourcesOptions): ResourceSource {
  return definedResources(options, customResourceDefinitions, (name) => name);
}

/** Resources that workspaces export: their objects are in the workspaces that bind them. */
export function customResourceSource(options: CustomResourcesOptions): ResourceSource {
  return definedResources(options, apiResourceSchemas, offeredName);
}

/**
 * An exported schema is named after its resource, with a prefix. Copies of schemas have other
 * names.
 */
function offeredName(name: string): string {
  return name.slice(name.indexOf(".") + 1);
}

function definedResources(
  { client, clock, onError }: CustomResourcesOptions,
  resource: Resource,
  definedBy: (name: string) => string,
): ResourceSource {
  return {
    async run(signal, onChange) {
      let definitions = new DefinitionCounts();
      let told = new DefinitionCounts();
      let isGathering = false;
      const gather = () => {
        if (isGathering) return;
        isGathering = true;
        sleep(clock, gatherMs, signal).then(
          () => {
            isGathering = false;
            onChange(definitions.resources());
          },
          () => {
            // Stopped: the callback must not be called any more.
          },
        );
      };
      const follower = new StorelessInformer({
        client: metadataClient(client),
        resource,
        scope: "all-clusters",
        clock,
        onError,
        handler: {
          restarted: () => {
            told = new DefinitionCounts();
          },
          observed: ({ metadata: { name } }, { origin }) => {
            if (origin !== "modified" && told.add(definedBy(name), 1) && told === definitions)
              gather();
          },
          deleted: ({ metadata: { name } }) => {
            if (told.add(definedBy(name), -1) && told === definitions) gather();
          },
          synced: () => {
            definitions = told;
            onChange(definitions.resources());
          },
        },
      });
      await follower.run(signal);
    },
  };
}

/**
 * How many clusters define each resource. A CRD is named after its resource: `widgets.example.com`.
 */
class DefinitionCounts {
  readonly #counts = new Map<string, number>();
  readonly #resources = new Map<string, CollectedResource>();

  /** Returns whether a resource was added or removed. */
  add(name: string, change: 1 | -1): boolean {
    const before = this.#counts.get(name) ?? 0;
    const count = before + change;
    if (count > 0) this.#counts.set(name, count);
    else this.#counts.delete(name);
    return name.includes(".") && before > 0 !== count > 0;
  }

  resources(): readonly CollectedResource[] {
    const names = [...this.#counts.keys()].filter((name) => name.includes("."));
    return names.map((name) => {
      const known = this.#resources.get(name) ?? customResource(name);
      this.#resources.set(name, known);
      return known;
    });
  }
}

function customResource(definition: string): CollectedResource {
  const dot = definition.indexOf(".");
  const group = definition.slice(dot + 1);
  return {
    // A CRD must name a group: a schema of the core group uses this word.
    group: group === "core" ? "" : group,
    // Any version is valid in the path of a watch that shows objects of all versions.
    version: "v1",
    resource: definition.slice(0, dot),
    kind: "",
    namespaced: true,
    isCustom: true,
  };
}
