import { isStorageError } from "../storage/index.ts";

/** Whether the hub came to a revision without an interruption: else what was read before it is not made true by what comes after, and is to be read anew. */
export async function isContinuous(reached: Promise<void>): Promise<boolean> {
  try {
    await reached;
    return true;
  } catch (error) {
    if (isStorageError(error, "compacted")) return false;
    throw error;
  }
}
