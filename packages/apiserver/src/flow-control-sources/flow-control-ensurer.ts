/**
 * FlowControlEnsurer writes the bootstrap FlowSchemas and PriorityLevelConfigurations into the
 * logical cluster root, and the conditions of the FlowSchemas there.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  autoUpdateAnnotation,
  bootstrapFlowSchemas,
  bootstrapPriorityLevels,
  danglingCondition,
  ensuredObject,
  planEnsure,
  withCondition,
} from "../flow-control/index.ts";
import {
  flowSchemas,
  priorityLevelConfigurations,
  type Registry,
  type ResourceDefinition,
  type SubresourceStrategy,
  timestamp,
} from "../registry/index.ts";

export const flowControlCluster = "root" as ClusterName;

/** The objects of both kinds in root. */
export interface FlowControlObjects {
  readonly schemas: readonly JsonObject[];
  readonly levels: readonly JsonObject[];
}

export interface FlowControlEnsurerOptions {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const configProducer = {
  manager: "api-priority-and-fairness-config-producer-v1",
  subresource: "",
  isApply: false,
} as const;
const configConsumer = {
  manager: "api-priority-and-fairness-config-consumer-v1",
  subresource: "status",
  isApply: false,
} as const;

export class FlowControlEnsurer {
  readonly #options: FlowControlEnsurerOptions;

  constructor(options: FlowControlEnsurerOptions) {
    this.#options = options;
  }

  /**
   * Creates, corrects and deletes the objects concurrently: they are few, and share one batch of
   * the store.
   */
  async ensure({ levels, schemas }: FlowControlObjects): Promise<void> {
    await Promise.all([
      ...this.#changes(priorityLevelConfigurations, bootstrapPriorityLevels, levels),
      ...this.#changes(flowSchemas, bootstrapFlowSchemas, schemas),
    ]);
  }

  /** Sets the condition Dangling of each schema: whether its level exists. */
  async updateDanglingConditions(
    { schemas }: FlowControlObjects,
    hasLevel: (name: string) => boolean,
  ): Promise<void> {
    const subresource = flowSchemas.subresources.get("status") as SubresourceStrategy;
    await Promise.all(
      schemas.map((schema) => {
        if (danglingCondition(schema, hasLevel) === undefined) return undefined;
        const rules = { owner: configConsumer, subresource };
        return this.#update(flowSchemas, nameOf(schema), rules, (present) => {
          const condition = danglingCondition(present, hasLevel);
          if (condition === undefined) return present;
          const lastTransitionTime = timestamp(this.#options.clock.now());
          return {
            ...present,
            status: withCondition(present, { ...condition, lastTransitionTime }),
          };
        });
      }),
    );
  }

  #changes(
    definition: ResourceDefinition,
    bootstrap: readonly JsonObject[],
    stored: readonly JsonObject[],
  ): Promise<unknown>[] {
    const { create, update, remove } = planEnsure(bootstrap, stored);
    return [
      ...create.map((object) => this.#create(definition, object)),
      ...update.map(({ name, model }) =>
        this.#update(definition, name, { owner: configProducer }, (present) =>
          ensuredObject(model, present),
        ),
      ),
      ...remove.map((object) => this.#remove(definition, object)),
    ];
  }

  async #create(definition: ResourceDefinition, { spec, metadata }: JsonObject): Promise<void> {
    const { name } = metadata as { name: string };
    const annotations = { [autoUpdateAnnotation]: "true" };
    const draft = { metadata: { name, annotations }, spec: spec as JsonObject };
    const target = { cluster: flowControlCluster, namespace: "", name: "" };
    const options = { ...this.#writeOptions, fieldManager: configProducer };
    await ignoreLostRace(this.#options.registry.create(definition, target, draft, options));
  }

  async #remove(definition: ResourceDefinition, { metadata }: JsonObject): Promise<void> {
    const { name, resourceVersion } = metadata as { name: string; resourceVersion: string };
    const request = { resourceVersion };
    await ignoreLostRace(
      this.#options.registry.delete(definition, addressOf(name), request, this.#writeOptions),
    );
  }

  async #update(
    definition: ResourceDefinition,
    name: string,
    rules: object,
    build: (present: JsonObject) => JsonObject,
  ): Promise<void> {
    const options = { ...this.#writeOptions, ...rules, isDerivedFromLive: true } as const;
    await ignoreLostRace(
      this.#options.registry.update(
        definition,
        addressOf(name),
        async (present) => ({ ...build(present as JsonObject) }),
        options,
      ),
    );
  }

  get #writeOptions() {
    const { signal } = this.#options;
    return { isDryRun: false, validate: () => undefined, signal } as const;
  }
}

function addressOf(name: string) {
  return { cluster: flowControlCluster, namespace: "", name };
}

/**
 * Ignores conflicts: another writer, such as another server, came first, and its change triggers
 * the next pass.
 */
async function ignoreLostRace(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    for (const reason of ["AlreadyExists", "NotFound", "Conflict"] as const)
      if (isStatusError(error, reason)) return;
    throw error;
  }
}

function nameOf({ metadata }: JsonObject): string {
  return String((metadata as JsonObject)["name"]);
}
