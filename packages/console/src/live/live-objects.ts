/** A few whole objects of one kind, in sync: an informer whose changes are drawn. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Client, KubernetesObject, Resource, SelectorOptions } from "@kcp-ts/sdk/client";
import { Informer, type InformerHealth } from "@kcp-ts/sdk/informer";
import type { LiveSource } from "./connection.ts";
import { useLive } from "./use-live.ts";

/** Selects the one object of a name: names of some kinds have characters of selectors. */
export function nameSelector(name: string): string {
  return `metadata.name=${name.replace(/[\\,=]/g, "\\$&")}`;
}

/** Keys need a name of the cluster; which one does not matter within one client. */
const here = "here" as ClusterName;

export class LiveObjects<Kind extends KubernetesObject> implements LiveSource {
  readonly #informer: Informer<Kind>;
  #objects: readonly Kind[] | undefined;

  constructor(
    client: Client,
    resource: Resource<Kind>,
    selector: SelectorOptions,
    changed: () => void,
  ) {
    this.#informer = new Informer<Kind>({
      client,
      resource,
      selector,
      scope: { cluster: here },
      liveObjectsMax: Number.POSITIVE_INFINITY,
      onError: changed,
    });
    const change = () => {
      this.#objects = undefined;
      changed();
    };
    this.#informer.addHandler({
      added: change,
      updated: change,
      deleted: change,
      replaced: change,
    });
  }

  get health(): InformerHealth {
    return this.#informer.health;
  }

  /** In the order of their names. */
  get objects(): readonly Kind[] {
    this.#objects ??= this.#informer.store
      .list()
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    return this.#objects;
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#informer.run(signal);
  }
}

export function useLiveObjects<Kind extends KubernetesObject>(
  client: Client,
  resource: Resource<Kind>,
  selector: SelectorOptions = {},
): LiveObjects<Kind> | undefined {
  const key = JSON.stringify([client.basePath, resource.group, resource.resource, selector]);
  return useLive((changed) => new LiveObjects(client, resource, selector, changed), key);
}
