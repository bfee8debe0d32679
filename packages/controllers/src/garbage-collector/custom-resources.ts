/**
 * The resources that logical clusters define themselves: one watch on the definitions of all clusters says which there are.
 *
 * Objects of a resource are watched in all clusters together, whoever defined it, by their metadata. So a resource costs a watch however many
 * clusters have defined it, and of a definition nothing is remembered but that it counts.
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

/** Definitions come in crowds: one change of the set for all of them. */
const gatherMs = 50;

export function customResources(options: CustomResourcesOptions): ResourceSource {
  return definedResources(options, customResourceDefinitions, (name) => name);
}

/** Resources that workspaces offer to others: their objects are in the workspaces that bound to them. */
export function customResourceSource(options: CustomResourcesOptions): ResourceSource {
  return definedResources(options, apiResourceSchemas, offeredName);
}

/** A schema that is offered is named after what it offers, behind a prefix. Copies of schemas are named otherwise. */
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
            // Stopped: nobody is there to tell.
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
          told: ({ metadata: { name } }, { as }) => {
            if (as !== "modified" && told.add(definedBy(name), 1) && told === definitions) gather();
          },
          deleted: ({ metadata: { name } }) => {
            if (told.add(definedBy(name), -1) && told === definitions) gather();
          },
          caughtUp: () => {
            definitions = told;
            onChange(definitions.resources());
          },
        },
      });
      await follower.run(signal);
    },
  };
}

/** How many clusters have defined each resource. A definition is named after what it defines: `widgets.example.com`. */
class DefinitionCounts {
  readonly #counts = new Map<string, number>();
  readonly #resources = new Map<string, CollectedResource>();

  /** Whether a resource came or went. */
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
    // A definition has to name a group: that of Pods and Services is called so.
    group: group === "core" ? "" : group,
    // Any will do in the path of a watch that shows objects of all versions.
    version: "v1",
    resource: definition.slice(0, dot),
    kind: "",
    namespaced: true,
    isCustom: true,
  };
}
