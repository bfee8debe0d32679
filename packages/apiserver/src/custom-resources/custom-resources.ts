/** CustomResources: the wiring of this folder, as the server starts, stops and queries it. */
import type { Clock, Supervisor } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { CrdNames } from "@kcp-ts/machinery/schema";
import {
  BuiltInCatalog,
  type Catalog,
  type CollectionSource,
  type Registry,
  type ResourceDefinition,
} from "../registry/index.ts";
import type { Storage } from "../storage/index.ts";
import type { WatchCache } from "../watch-cache/index.ts";
import type { WebhookClient } from "../webhooks/index.ts";
import { CustomResourceCatalog } from "./catalog.ts";
import type { Conversion } from "./conversion.ts";
import { DefinitionController } from "./definition-controller.ts";
import { DefinitionIndex } from "./definition-index.ts";
import { customResourceDefinitions } from "./definitions.ts";
import { WebhookConversion } from "./webhook-conversion.ts";

export interface CustomResourcesOptions {
  readonly storage: Storage;
  readonly watchCache: WatchCache;
  readonly clock: Clock;
  readonly supervisor: Supervisor;
  readonly registry: Registry;
  readonly builtIns: readonly ResourceDefinition[];
  /** Resources that only the logical cluster root serves. */
  readonly rootOnly?: readonly ResourceDefinition[];
  /** Calls conversion webhooks; its owner closes it. */
  readonly webhooks: WebhookClient;
  readonly onError: (error: unknown) => void;
}

export interface DefinedNames {
  readonly definition: string;
  readonly group: string;
  readonly names: CrdNames;
}

export class CustomResources {
  readonly catalog: Catalog & CollectionSource;
  /** Converts objects between versions, for other parts that serve definitions. */
  readonly conversion: Conversion;
  readonly #index: DefinitionIndex;
  readonly #controller: DefinitionController;

  constructor(options: CustomResourcesOptions) {
    const { storage, watchCache, clock, registry, builtIns, rootOnly, webhooks, onError } = options;
    const { hub } = watchCache;
    const builtInCatalog = new BuiltInCatalog(ranked(builtIns), rootOnly);
    const conversion = new WebhookConversion(webhooks);
    const index = new DefinitionIndex({ storage, hub, conversion });
    this.conversion = conversion;
    this.#index = index;
    this.catalog = new CustomResourceCatalog({ builtIns: builtInCatalog, index, watchCache });
    this.#controller = new DefinitionController({
      storage,
      hub,
      clock,
      registry,
      index,
      builtIns: builtInCatalog,
      supervisor: options.supervisor,
      onError,
    });
  }

  /** Starts the controllers; the hub must be open. */
  start(): void {
    this.#controller.start();
  }

  /** The names of the definitions of a logical cluster. */
  async namesIn(cluster: ClusterName): Promise<readonly DefinedNames[]> {
    const { records } = await (await this.#index.load(cluster)).prepare();
    return [...records].flatMap(([definition, { isServed, shared }]) =>
      isServed ? [{ definition, group: shared.group, names: shared.names }] : [],
    );
  }

  stop(): Promise<void> {
    return this.#controller.stop();
  }
}

/** Upstream lists definitions in discovery right after the kinds of admission. */
function ranked(builtIns: readonly ResourceDefinition[]): readonly ResourceDefinition[] {
  const at = builtIns.findLastIndex(({ group }) => group === "admissionregistration.k8s.io") + 1;
  return at === 0
    ? [...builtIns, customResourceDefinitions]
    : builtIns.toSpliced(at, 0, customResourceDefinitions);
}
