/**
 * What stands below the plot of workspaces: all that the figures hang on, so that two plots can be
 * told apart.
 */
import { statfsSync } from "node:fs";

export interface PlottedRun {
  readonly workspaces: number;
  readonly writers: number;
  readonly store: StoreMedium;
  /** As Node gives it. */
  readonly nodeVersion: string;
  /** `2026-11-16`. */
  readonly day: string;
}

export type StoreMedium = "store in memory-backed files" | "store on a disk";

export function captionOf({ workspaces, writers, store, nodeVersion, day }: PlottedRun): string {
  const count = workspaces.toLocaleString("en-US");
  return `${count} workspaces made one after another below root, ${writers} writers, ${store}, Node ${nodeVersion}, ${day}`;
}

/** Of tmpfs and ramfs (linux/magic.h): there fdatasync waits for nothing. */
const memoryBacked: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

export function mediumOf(directory: string): StoreMedium {
  return memoryBacked.has(statfsSync(directory).type)
    ? "store in memory-backed files"
    : "store on a disk";
}
