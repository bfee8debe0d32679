/**
 * The PersistentVolumeClaims of StatefulSets while a snapshot converges: a claim that an ordinal
 * requests in another cluster is bound there, or its migration is rejected with the reason that the
 * volumes would give.
 */
import { stringMember } from "@kcp-ts/sdk";
import { stateLabel, stateSync, volumeClusterAnnotation, volumesAnnotation } from "../api/index.ts";
import {
  claimTemplatesOf,
  ordinalClaimName,
  requestedOrdinals,
  type Workload,
} from "../coordination/index.ts";
import {
  type PlannedUser,
  predictVolumeRefusals,
  type RefusedClaim,
  type Storage,
} from "../volumes/index.ts";
import type { SnapshotWorkload, WorkspaceSnapshot } from "./workspace-snapshot.ts";

type Claim = Storage["claims"][number];

export class ConvergingClaims {
  readonly #snapshot: WorkspaceSnapshot;
  /** By namespace, and within it by name. */
  readonly #claims = new Map<string, Map<string, Claim>>();
  readonly #refusals = new Map<string, Map<string, RefusedClaim>>();

  constructor(snapshot: WorkspaceSnapshot) {
    this.#snapshot = snapshot;
    for (const claim of snapshot.storage?.claims ?? []) this.#put(claim);
  }

  inNamespaceOf({ metadata: { namespace = "" } }: Workload): readonly Workload[] {
    return [...(this.#claims.get(namespace)?.values() ?? [])] as unknown as Workload[];
  }

  refusalsOf(workload: Workload): readonly RefusedClaim[] {
    return [...(this.#refusals.get(idOf(workload))?.values() ?? [])];
  }

  /** Answers the requests of the StatefulSet's ordinals. */
  migrate(set: SnapshotWorkload): void {
    const { name, namespace = "" } = set.workload.metadata;
    for (const [cluster, { start, end }] of requestedOrdinals(set.placement?.status)) {
      for (let ordinal = start; ordinal < end; ordinal++) {
        for (const template of claimTemplatesOf(set.workload)) {
          const claim = ordinalClaimName(template.name, name, ordinal);
          this.#request({ namespace, claim, cluster }, set);
        }
      }
    }
  }

  #request(
    request: { readonly namespace: string; readonly claim: string; readonly cluster: string },
    set: SnapshotWorkload,
  ): void {
    const { namespace, claim: name, cluster } = request;
    const claim = this.#claims.get(namespace)?.get(name);
    const home = stringMember(claim?.metadata.annotations, volumeClusterAnnotation) ?? cluster;
    if (claim !== undefined && home === cluster) return;
    const refusal = claim && this.#refusalOf(claim, home, cluster, set);
    const id = idOf(set.workload);
    if (refusal === undefined) {
      this.#refusals.get(id)?.delete(name);
      this.#put(boundIn(cluster, { metadata: { name, namespace }, ...claim } as Claim));
      return;
    }
    const known = this.#refusals.get(id) ?? new Map<string, RefusedClaim>();
    this.#refusals.set(id, known.set(name, refusal));
    const states = { [home]: { state: "bound" }, [cluster]: { ...refusal, state: "refused" } };
    this.#put(withStates(claim as Claim, states));
  }

  #refusalOf(
    claim: Claim,
    home: string,
    cluster: string,
    { workload, copies }: SnapshotWorkload,
  ): RefusedClaim | undefined {
    const { storage, cluster: logicalCluster, targets } = this.#snapshot;
    if (storage === undefined) return undefined;
    const one = { ...storage, claims: [claim] };
    const user = {
      kind: workload.kind,
      workload,
      copies,
      from: { [home]: 1 },
      to: { [cluster]: 1 },
    };
    const options = { cluster: logicalCluster, targets, storage: one };
    return predictVolumeRefusals(options, user as unknown as PlannedUser)[0];
  }

  #put(claim: Claim): void {
    const { namespace = "", name } = claim.metadata;
    const known = this.#claims.get(namespace);
    if (known === undefined) this.#claims.set(namespace, new Map([[name, claim]]));
    else known.set(name, claim);
  }
}

function boundIn(cluster: string, claim: Claim): Claim {
  const bound = withStates(claim, { [cluster]: { state: "bound" } });
  const annotations = { ...bound.metadata.annotations, [volumeClusterAnnotation]: cluster };
  const labels = { [stateLabel(cluster)]: stateSync };
  const metadata = { ...bound.metadata, labels, annotations };
  return { ...bound, metadata, status: { phase: "Bound" } } as Claim;
}

function withStates(claim: Claim, states: object): Claim {
  const annotations = {
    ...claim.metadata.annotations,
    [volumesAnnotation]: JSON.stringify(states),
  };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

function idOf({ metadata: { namespace, name } }: Workload): string {
  return `${namespace}/${name}`;
}
