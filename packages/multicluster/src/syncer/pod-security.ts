/**
 * What Pods may do in the namespaces that are made in a cluster: the labels by which every cluster enforces the Pod Security Standards. Tenants share the cluster's nodes with
 * others; a Pod of theirs that leaves its container has all of them.
 *
 * The logical cluster of the SyncTarget is that of whoever registered the cluster, and could run anything in it without us: there Pods are warned of and not refused.
 */
import type { PodSecurityLevel } from "../api/index.ts";

export const podSecurityLabels = {
  enforce: "pod-security.kubernetes.io/enforce",
  audit: "pod-security.kubernetes.io/audit",
  warn: "pod-security.kubernetes.io/warn",
} as const;

export const podSecurityDefault: PodSecurityLevel = "baseline";
const fromLoose: readonly PodSecurityLevel[] = ["privileged", "baseline", "restricted"];

/** Of several that are asked for, the strictest; the default when none is. */
export function strictestLevel(
  levels: readonly (PodSecurityLevel | undefined)[],
): PodSecurityLevel {
  const asked = levels.map((level) => (level === undefined ? -1 : fromLoose.indexOf(level)));
  return fromLoose[Math.max(-1, ...asked)] ?? podSecurityDefault;
}

/** The labels of a namespace; `isHome` for one of the SyncTarget's own logical cluster. */
export function securityLabels(
  level: PodSecurityLevel,
  isHome: boolean,
): Readonly<Record<string, string>> {
  const { enforce, audit, warn } = podSecurityLabels;
  const told = isHome ? podSecurityDefault : level;
  return { ...(isHome ? {} : { [enforce]: level }), [audit]: told, [warn]: told };
}

/** Whether a namespace lets its Pods do less than is wanted, or just that: whoever rules the cluster may want it stricter. */
export function isEnforced(found: string | undefined, wanted: string | undefined): boolean {
  if (wanted === undefined) return true;
  const rank = (level: string | undefined) => fromLoose.indexOf(level as PodSecurityLevel);
  return rank(found) >= rank(wanted);
}

/** As it is now: Locations change while a syncer runs. */
export class PodSecuritySetting {
  #level: PodSecurityLevel;
  #listener: () => void = () => {};

  constructor(level: PodSecurityLevel = podSecurityDefault) {
    this.#level = level;
  }

  get current(): PodSecurityLevel {
    return this.#level;
  }

  set(level: PodSecurityLevel): void {
    if (level === this.#level) return;
    this.#level = level;
    this.#listener();
  }

  onChange(listener: () => void): void {
    this.#listener = listener;
  }
}
