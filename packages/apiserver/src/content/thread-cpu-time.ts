/** The CPU time of a thread of this process. */
import { readFileSync } from "node:fs";

/** Undefined where the system does not provide it: only Linux does, by its own id of the thread. */
export function threadCpuMs(thread: number | undefined): number | undefined {
  if (thread === undefined) return undefined;
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${thread}/schedstat`, "utf8").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch (error) {
    // The thread has ended, or the kernel was built without it.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
