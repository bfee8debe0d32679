/** Stored values that are no objects: counted, logged once each, and left out of what everybody reads. */
import { Counter } from "../metrics/index.ts";
import type { ApiServerOptions } from "../server.ts";
import { parseObjectKey, type Storage } from "../storage/index.ts";
import { CheckedStorage, type CorruptEntry } from "../stored-object/index.ts";

/** Of which it is remembered that they were logged: a list that is read every second need not say it every second. */
const loggedMax = 1000;

/** The options with a store that shows nothing but objects, and what it leaves out. */
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
    this.storage = new CheckedStorage(storage, (damage) => this.#note(damage));
  }

  #note({ key, modifiedAt }: CorruptEntry): void {
    const { group, resource, cluster, namespace, name } = parseObjectKey(key);
    this.counter.add([group, resource]);
    const id = `${key}@${modifiedAt}`;
    if (this.#logged.has(id)) return;
    if (this.#logged.size >= loggedMax) this.#logged.clear();
    this.#logged.add(id);
    this.#log.error(
      { group, resource, cluster, namespace, name },
      "a stored object is damaged and left out of lists and watches; restore it from a backup",
    );
  }
}
