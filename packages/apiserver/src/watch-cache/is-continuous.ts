import { isStorageError } from "../storage/index.ts";

/**
 * Whether the hub reached a revision without an interruption: otherwise the events do not connect
 * to the earlier read, and the caller has to read again.
 */
export async function isContinuous(reached: Promise<void>): Promise<boolean> {
  try {
    await reached;
    return true;
  } catch (error) {
    if (isStorageError(error, "compacted")) return false;
    throw error;
  }
}
