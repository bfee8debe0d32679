/**
 * Kinds that the control plane serves natively are not negotiated, so no import says whether a
 * cluster serves them. The dependent ones are discovered in the cluster: ServiceImports are synced
 * wherever EndpointSlices are, if their definition is installed there.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { formatGroupResource, isStatusError } from "@kcp-ts/machinery/status";
import type { Client } from "@kcp-ts/sdk";
import { allResources, serviceImports, syncedNativeResources } from "./api/index.ts";
import type { SyncedResource } from "./syncer/index.ts";

export interface NativeKindsOptions {
  /** A client of the cluster. */
  readonly client: Client;
  readonly clock: Clock;
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string }[];
}

const companionResources: readonly { readonly native: SyncedResource; readonly of: string }[] = [
  { native: { resource: serviceImports, hasStatus: true }, of: "endpointslices.discovery.k8s.io" },
];
/** The requested resources of a SyncTarget that are not negotiated. */
export function syncedNativeKinds(asked: readonly string[]): readonly SyncedResource[] {
  const isAll = asked.includes(allResources);
  return [...syncedNativeResources]
    .filter(([name]) => isAll || asked.includes(name))
    .map(([, resource]) => ({ resource, hasStatus: false }));
}

/** A definition may be installed later. */
const lookMs = 60_000;

export class NativeKinds {
  readonly #options: NativeKindsOptions;
  readonly #stop = new AbortController();
  #served: ReadonlySet<SyncedResource> = new Set();
  #timer: Timer | undefined;

  constructor(options: NativeKindsOptions) {
    this.#options = options;
    this.#look();
  }

  close(): void {
    this.#stop.abort();
    this.#timer?.cancel();
  }

  /** The resources that are synced in addition to the negotiated ones. */
  nativeResourcesFor(negotiated: readonly SyncedResource[]): readonly SyncedResource[] {
    const names = new Set(negotiated.map(({ resource }) => formatGroupResource(resource)));
    return companionResources
      .filter(({ native, of }) => this.#served.has(native) && names.has(of))
      .map(({ native }) => native);
  }

  readonly #look = () => {
    const { clock, onChange, onError } = this.#options;
    this.#read()
      .then(
        (served) => {
          if (served.size === this.#served.size || this.#stop.signal.aborted) return;
          this.#served = served;
          onChange();
        },
        (error: unknown) => {
          // The last result stays: a cluster that does not respond has not lost a kind.
          if (!this.#stop.signal.aborted) onError(error);
        },
      )
      .finally(() => {
        if (!this.#stop.signal.aborted) this.#timer = clock.schedule(lookMs, this.#look);
      });
  };

  async #read(): Promise<ReadonlySet<SyncedResource>> {
    const served = new Set<SyncedResource>();
    for (const { native } of companionResources)
      if (await this.#isServed(native)) served.add(native);
    return served;
  }

  async #isServed({ resource }: SyncedResource): Promise<boolean> {
    const path = `/apis/${resource.group}/${resource.version}`;
    try {
      const { signal } = this.#stop;
      const answer = await this.#options.client.json({ method: "GET", path, signal });
      const { resources = [] } = answer as ResourceList;
      return resources.some(({ name }) => name === resource.resource);
    } catch (error) {
      if (isStatusError(error, "NotFound") || isStatusError(error, "Forbidden")) return false;
      throw error;
    }
  }
}
