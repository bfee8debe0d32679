/**
 * Indexes all APIBindings, by their workspace and by their export.
 *
 * The index holds some two hundred bytes per binding, because bindings of the same export share the
 * lists of bound resources. Definitions for serving are created on the first request.
 */
import type { Revision } from "@kcp-ts/apiserver/storage";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { BindingRecord, BoundResource } from "./records.ts";
import { RetirementNotifier } from "./retirement-notifier.ts";

/** A resource that a binding serves in its logical cluster. */
export class ServedResource {
  readonly bound: BoundResource;
  readonly binding: BindingRecord;
  /** The revision since which the binding serves the resource in this way. */
  readonly boundAt: Revision;
  readonly retirement = new RetirementNotifier();

  constructor(bound: BoundResource, binding: BindingRecord) {
    this.bound = bound;
    this.binding = binding;
    this.boundAt = binding.modifiedAt;
  }
}

export class ClusterBindings {
  readonly records = new Map<string, BindingRecord>();
  /** Keyed by `<resource>.<group>`. */
  readonly served = new Map<string, ServedResource>();

  find(group: string, resource: string): ServedResource | undefined {
    return this.served.get(`${resource}.${group}`);
  }

  hasClaims(): boolean {
    return [...this.records.values()].some(({ exportClaims }) => exportClaims.length > 0);
  }

  /**
   * Gives each name to its oldest binding; all servers agree, because the store's order decides.
   */
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
      served.retirement.retire();
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
  /**
   * Keyed by `<export cluster>/<export>`, or by `/<export>` while the export's cluster is unknown.
   */
  readonly #byExport = new Map<string, Set<BindingRecord>>();
  /** The number of bindings to a schema, by its uid. */
  readonly #uses = new Map<string, number>();
  /** True while no binding serves a resource: read by every request. */
  isEmpty = true;
  readonly #clustersWithClaims = new Set<ClusterName>();
  /** The clusters with a binding to an export that claims permissions. */
  readonly clustersWithClaims: ReadonlySet<ClusterName> = this.#clustersWithClaims;

  inCluster(cluster: ClusterName): ClusterBindings | undefined {
    return this.#byCluster.get(cluster);
  }

  toExport(exportCluster: ClusterName, exportName: string): Iterable<BindingRecord> {
    return this.#byExport.get(`${exportCluster}/${exportName}`) ?? [];
  }

  /** The bindings whose export was not found, by the name of the export. */
  withUnresolvedExport(exportName: string): Iterable<BindingRecord> {
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
    if (bindings?.hasClaims() === true) this.#clustersWithClaims.add(cluster);
    else this.#clustersWithClaims.delete(cluster);
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
    this.isEmpty = this.#uses.size === 0;
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
    this.isEmpty = this.#uses.size === 0;
  }
}

function exportKeyOf({ exportCluster, exportName }: BindingRecord): string {
  return `${exportCluster ?? ""}/${exportName}`;
}
