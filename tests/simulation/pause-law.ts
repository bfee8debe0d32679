/**
 * While a workload is paused, no per-cluster object gets a template that was written during the
 * pause, unless there is no other template in any cluster.
 */
import type { Write } from "@kcp-ts/apiserver/storage";
import { BrokenLaw } from "./laws.ts";
import { editedAtAnnotation } from "./manifests.ts";
import type { Model } from "./model.ts";
import type { TenantName } from "./scenario.ts";
import type { SimulatedSystem } from "./simulated-system.ts";

const editedAt = new RegExp(`"${editedAtAnnotation}":"(\\d+)"`);

export class PauseLaw {
  readonly #model: Model;
  readonly #onBroken: (error: BrokenLaw) => void;
  /** By workload, the clusters with a per-cluster object. */
  readonly #clusters = new Map<string, Set<string>>();

  constructor(system: SimulatedSystem, model: Model, onBroken: (error: BrokenLaw) => void) {
    this.#model = model;
    this.#onBroken = onBroken;
    const { onCommit } = system;
    system.onCommit = (write) => {
      onCommit(write);
      this.#see(write);
    };
  }

  #see({ key, value }: Write): void {
    const [, , , , tenant = "", , object = ""] = key.split("/");
    const [name = "", cluster] = object.split("--");
    const workload = this.#model.workload(tenant as TenantName, name);
    if (cluster === undefined || workload === undefined) return;
    const id = `${tenant}/${name}`;
    const clusters = this.#clusters.get(id) ?? new Set();
    this.#clusters.set(id, clusters);
    if (value === "delete") {
      clusters.delete(cluster);
      return;
    }
    const isFirst = clusters.size === 0;
    clusters.add(cluster);
    const { pausedSinceMs } = workload;
    const [, edited] = editedAt.exec(Buffer.from(value).toString()) ?? [];
    if (pausedSinceMs === undefined || edited === undefined || isFirst) return;
    if (Number(edited) > pausedSinceMs)
      this.#onBroken(
        new BrokenLaw(
          "a pause holds",
          `${object} of ${id} gets a template of ${edited} ms, and it is paused since ${pausedSinceMs} ms`,
        ),
      );
  }
}
