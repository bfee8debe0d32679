/** All objects of one kind that a selector selects, in sync, and in the order of their names. */
import type { Client, KubernetesObject, Resource, SelectorOptions } from "@kcp-ts/sdk/client";
import { type InformerHealth, LiveTable } from "@kcp-ts/sdk/informer";
import type { LiveSource } from "./connection.ts";
import { useLive } from "./use-live.ts";

/** Selects the one object of a name: names of some kinds have characters of selectors. */
export function nameSelector(name: string): string {
  return `metadata.name=${name.replace(/[\\,=]/g, "\\$&")}`;
}

/** Of whole objects, which may be large: the page stays responsive between them. */
const pageSize = 200;

/** The rows of a table with their objects: tables are followed anyway, and need no second cache. */
class LiveObjects<Kind extends KubernetesObject> implements LiveSource {
  readonly #table: LiveTable;
  #objects: readonly Kind[] | undefined;

  constructor(
    client: Client,
    resource: Resource<Kind>,
    selector: SelectorOptions,
    changed: () => void,
  ) {
    this.#table = new LiveTable({
      client,
      resource: resource as Resource,
      selector,
      pageSize,
      loadsAll: true,
      includeObject: "Object",
      onChange: () => {
        this.#objects = undefined;
        changed();
      },
    });
  }

  get health(): InformerHealth {
    return this.#table.health;
  }

  get objects(): readonly Kind[] {
    this.#objects ??= this.#table.rows
      .map(({ object }) => object as Kind)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    return this.#objects;
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#table.run(signal);
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
