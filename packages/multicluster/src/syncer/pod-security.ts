/**
 * The permissions of Pods in the syncer's namespaces: the labels by which every cluster enforces
 * the Pod Security Standards. Tenants share the cluster's nodes; a Pod that escapes its container
 * has access to the Pods of all tenants.
 *
 * The logical cluster of the SyncTarget belongs to the user who registered the cluster, who could
 * run any Pod there anyway: its Pods get warnings and are not rejected.
 */
import type { PodSecurityLevel } from "../api/index.ts";

export const podSecurityLabels = {
  enforce: "pod-security.kubernetes.io/enforce",
  audit: "pod-security.kubernetes.io/audit",
  warn: "pod-security.kubernetes.io/warn",
} as const;

export const podSecurityDefault: PodSecurityLevel = "baseline";
const fromLoose: readonly PodSecurityLevel[] = ["privileged", "baseline", "restricted"];

/** The strictest of several requested levels; the default when none is requested. */
export function strictestLevel(
  levels: readonly (PodSecurityLevel | undefined)[],
): PodSecurityLevel {
  const asked = levels.map((level) => (level === undefined ? -1 : fromLoose.indexOf(level)));
  return fromLoose[Math.max(-1, ...asked)] ?? podSecurityDefault;
}

/** The labels of a namespace; `isHome` for a namespace of the SyncTarget's own logical cluster. */
export function securityLabels(
  level: PodSecurityLevel,
  isHome: boolean,
): Readonly<Record<string, string>> {
  const { enforce, audit, warn } = podSecurityLabels;
  const told = isHome ? podSecurityDefault : level;
  return { ...(isHome ? {} : { [enforce]: level }), [audit]: told, [warn]: told };
}

/**
 * Whether a namespace enforces at least the wanted level: the cluster's administrator may set a
 * stricter one.
 */
export function isEnforced(found: string | undefined, wanted: string | undefined): boolean {
  if (wanted === undefined) return true;
  const rank = (level: string | undefined) => fromLoose.indexOf(level as PodSecurityLevel);
  return rank(found) >= rank(wanted);
}

/** The current level: Locations change while a syncer runs. */
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
