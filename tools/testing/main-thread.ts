/** What the kernel says about the main thread of a process. */
import { readFileSync } from "node:fs";

/**
 * Which lock it waits for, and since when: two answers that are the same say that it has not run in
 * between. Undefined when it waits for events, runs, is gone, or nobody can tell (other systems
 * than Linux).
 */
export function lockOfMainThread(pid: number): string | undefined {
  const thread = `/proc/${pid}/task/${pid}`;
  try {
    if (!readFileSync(`${thread}/wchan`, "utf8").startsWith("futex")) return undefined;
    const status = readFileSync(`${thread}/status`, "utf8");
    return [...status.matchAll(/ctxt_switches:\s+\d+/g)].join();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return undefined;
  }
}
