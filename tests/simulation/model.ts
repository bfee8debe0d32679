/** What users and administrators want of a system, as far as their requests were accepted. */
import type { TenantName, WorkloadKind } from "./scenario.ts";

export interface WantedWorkload {
  readonly tenant: TenantName;
  readonly name: string;
  readonly kind: WorkloadKind;
  replicas: number;
  readonly isStopBeforeStart: boolean;
  readonly hasVolume: boolean;
  readonly pinnedTo: string | undefined;
  /** The ready Pods below which nothing but a loss may bring it. */
  floor: number;
  /** Since the last edit of its template, the system has not been whole and at rest. */
  isRollingOut: boolean;
  /** Pods of its newest template never become ready. */
  isBroken: boolean;
  /** Since when its moves and roll-outs are paused. */
  pausedSinceMs: number | undefined;
  /** The most replicas that its author let be unavailable. */
  unavailableMax: number;
}

export interface WantedTarget {
  readonly tenant: TenantName;
  readonly cluster: string;
  isCordoned: boolean;
  isDrained: boolean;
  isNarrow: boolean;
  podsMax: number | undefined;
  /** When its deletion was asked for. */
  deletedAtMs: number | undefined;
}

export class Model {
  readonly workloads = new Map<string, WantedWorkload>();
  readonly targets = new Map<string, WantedTarget>();
  readonly deletedWorkloads = new Set<string>();
  /** Workloads with a Placement of their own. */
  readonly placed = new Set<string>();
  readonly quotas = new Map<TenantName, number>();
  /** The limits of the tenants' Locations: the one in force, and the largest there was. */
  readonly locationLimits = new Map<
    TenantName,
    { readonly pods: number; readonly podsMost: number }
  >();

  register(tenant: TenantName, cluster: string): void {
    this.targets.set(workloadKey(tenant, cluster), {
      tenant,
      cluster,
      isCordoned: false,
      isDrained: false,
      isNarrow: false,
      podsMax: undefined,
      deletedAtMs: undefined,
    });
  }

  workload(tenant: TenantName, name: string): WantedWorkload | undefined {
    return this.workloads.get(workloadKey(tenant, name));
  }

  target(tenant: TenantName, cluster: string): WantedTarget | undefined {
    return this.targets.get(workloadKey(tenant, cluster));
  }
}

export function workloadKey(tenant: TenantName, name: string): string {
  return `${tenant}/${name}`;
}
