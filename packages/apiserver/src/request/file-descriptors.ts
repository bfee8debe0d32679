/**
 * The file descriptors of this process, and their shares. The store must always be able to open its
 * files: clients get no more than their share.
 */
import { readFileSync } from "node:fs";

/** The assumed limit where the system does not report one. */
const limitUnknown = 4096;

/**
 * Shares of the limit; the rest is for the store, which takes a fifth of the limit itself, and for
 * everything else.
 */
const parts = { connections: 0.55, webhooks: 0.08, mounts: 0.08, physicalClusters: 0.06 } as const;

let known: number | undefined;

/** The soft limit, which Node raises to the hard one when it starts. */
export function fileDescriptorLimit(): number {
  known ??= readLimit();
  return known;
}

/** `most` caps the share. */
export function fileDescriptorShare(
  part: keyof typeof parts,
  most = Number.POSITIVE_INFINITY,
): number {
  return Math.max(1, Math.min(most, Math.floor(fileDescriptorLimit() * parts[part])));
}

function readLimit(): number {
  let text: string;
  try {
    text = readFileSync("/proc/self/limits", "utf8");
  } catch {
    // Not Linux.
    return limitUnknown;
  }
  return parseOpenFilesLimit(text);
}

export function parseOpenFilesLimit(limits: string): number {
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  if (soft === "unlimited") return Number.MAX_SAFE_INTEGER;
  return Number(soft) > 0 ? Number(soft) : limitUnknown;
}
