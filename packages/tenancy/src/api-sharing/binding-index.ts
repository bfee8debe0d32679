/**
 * Which bindings there are, by the workspace that they are in and by the export that they are to.
 *
 * Of a binding some two hundred bytes are held, because lists of what it is bound to are shared by all that are bound to the same. What
 * serving it takes is made when somebody first asks.
 */

import type { Revision } from "@kcp-ts/apiserver/storage";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { BindingRecord, BoundResource } from "./records.ts";
import { RetirementNotifier } from "./retirement.ts";

/** A resource that a binding serves in its logical cluster. */
export class ServedResource {
  readonly bound: BoundResource;
  readonly binding: BindingRecord;
  /** Since when it is served so. */
  readonly since: Revision;
  readonly retirement = new RetirementNotifier();

  constructor(bound: BoundResource, binding: BindingRecord) {
    this.bound = bound;
    this.binding = binding;
    this.since = binding.modifiedAt;
  }
}

export class ClusterBindings {
  readonly records = new Map<string, BindingRecord>();
  /** By `<resource>.<group>`. */
  readonly served = new Map<string, ServedResource>();

  find(group: string, resource: string): ServedResource | undefined {
    return this.served.get(`${resource}.${group}`);
  }

  /** The first to come has the name; the same one for every server, because the store's order decides. */
  refresh(): void {
    const winners = new Map<string, { bound: BoundResource; binding: BindingRecord }>();
    for (const binding of [...this.records.values()].sort(byCreation)) {
      for (const bound of binding.bound) {
        const name = `${bound.resource}.${bound.group}`;
        if (!winners.has(name)) winners.set(name, { bound, binding });
      }
    }
    for (const [name, served] of this.served) {
      const now = winners.get(name);
      if (now !== undefined && isSame(served, now.bound, now.binding)) {
        winners.delete(name);
        continue;
      }
      this.served.delete(name);
      served.retirement.end();
    }
    for (const [name, { bound, binding }] of winners)
      this.served.set(name, new ServedResource(bound, binding));
  }
}

function byCreation(a: BindingRecord, b: BindingRecord): number {
  return a.createdAt - b.createdAt;
}

function isSame(served: ServedResource, bound: BoundResource, binding: BindingRecord): boolean {
  return (
    served.binding.uid === binding.uid &&
    served.binding.isDeleted === binding.isDeleted &&
    served.bound.schemaUid === bound.schemaUid &&
    served.bound.isVirtual === bound.isVirtual &&
    served.bound.identityHash === bound.identityHash
  );
}

export class BindingIndex {
  readonly #byCluster = new Map<ClusterName, ClusterBindings>();
  /** By `<export cluster>/<export>`, or `/<export>` while it is not known where that is. */
  readonly #byExport = new Map<string, Set<BindingRecord>>();
  /** How many bindings are bound to a schema, by its uid. */
  readonly #uses = new Map<string, number>();

  /** No binding serves anything. */
  get isEmpty(): boolean {
    return this.#uses.size === 0;
  }

  in(cluster: ClusterName): ClusterBindings | undefined {
    return this.#byCluster.get(cluster);
  }

  to(exportCluster: ClusterName, exportName: string): Iterable<BindingRecord> {
    return this.#byExport.get(`${exportCluster}/${exportName}`) ?? [];
  }

  /** Those whose export was not found, by its name. */
  lookingFor(exportName: string): Iterable<BindingRecord> {
    return this.#byExport.get(`/${exportName}`) ?? [];
  }

  hasBindingsTo(exportCluster: ClusterName, exportName: string): boolean {
    return (this.#byExport.get(`${exportCluster}/${exportName}`)?.size ?? 0) > 0;
  }

  isUsed(schemaUid: string): boolean {
    return this.#uses.has(schemaUid);
  }

  change(now: BindingRecord | undefined, before: BindingRecord | undefined): void {
    if (before !== undefined) this.#forget(before);
    if (now !== undefined) this.#add(now);
    const { cluster } = (now ?? before) as BindingRecord;
    const bindings = this.#byCluster.get(cluster);
    bindings?.refresh();
    if (bindings?.records.size === 0) this.#byCluster.delete(cluster);
  }

  #add(record: BindingRecord): void {
    let bindings = this.#byCluster.get(record.cluster);
    if (bindings === undefined) {
      bindings = new ClusterBindings();
      this.#byCluster.set(record.cluster, bindings);
    }
    bindings.records.set(record.name, record);
    const key = exportKeyOf(record);
    const known = this.#byExport.get(key);
    if (known === undefined) this.#byExport.set(key, new Set([record]));
    else known.add(record);
    for (const { schemaUid } of record.bound)
      this.#uses.set(schemaUid, (this.#uses.get(schemaUid) ?? 0) + 1);
  }

  #forget(record: BindingRecord): void {
    this.#byCluster.get(record.cluster)?.records.delete(record.name);
    const key = exportKeyOf(record);
    const known = this.#byExport.get(key);
    known?.delete(record);
    if (known?.size === 0) this.#byExport.delete(key);
    for (const { schemaUid } of record.bound) {
      const left = (this.#uses.get(schemaUid) ?? 1) - 1;
      if (left === 0) this.#uses.delete(schemaUid);
      else this.#uses.set(schemaUid, left);
    }
  }
}

function exportKeyOf({ exportCluster, exportName }: BindingRecord): string {
  return `${exportCluster ?? ""}/${exportName}`;
}
