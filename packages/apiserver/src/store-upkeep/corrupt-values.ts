/** Stored values that are not objects: counted, logged once each, and omitted from reads. */
import { Counter } from "../metrics/index.ts";
import type { ApiServerOptions } from "../server.ts";
import { parseObjectKey, type Storage } from "../storage/index.ts";
import { CheckedStorage, type CorruptEntry } from "../stored-object/index.ts";

/**
 * The number of keys that are remembered as logged: a list that is read every second must not log
 * every second.
 */
const loggedMax = 1000;

/** The options with a store that returns only valid objects, and the omitted values. */
export function withCheckedStorage<Options extends Pick<ApiServerOptions, "storage" | "log">>(
  options: Options,
): Options & { readonly damaged: CorruptValues } {
  const damaged = new CorruptValues(options);
  return { ...options, storage: damaged.storage, damaged };
}

export class CorruptValues {
  readonly storage: Storage;
  readonly counter = new Counter({
    name: "apiserver_storage_decode_errors_total",
    help: "Stored values that were read and are no objects.",
    labels: ["group", "resource"],
  });
  readonly #log: ApiServerOptions["log"];
  readonly #logged = new Set<string>();

  constructor({ storage, log }: Pick<ApiServerOptions, "storage" | "log">) {
    this.#log = log;
    this.storage = new CheckedStorage(storage, (damage) => this.#report(damage));
  }

  #report({ key, modifiedAt }: CorruptEntry): void {
    const { group, resource, cluster, namespace, name } = parseObjectKey(key);
    this.counter.add([group, resource]);
    const id = `${key}@${modifiedAt}`;
    if (this.#logged.has(id)) return;
    if (this.#logged.size >= loggedMax) this.#logged.clear();
    this.#logged.add(id);
    this.#log.error(
      { group, resource, cluster, namespace, name },
      "a stored object is damaged and left out of lists and watches; restore it from a backup, or delete it with ignoreStoreReadErrorWithClusterBreakingPotential",
    );
  }
}
