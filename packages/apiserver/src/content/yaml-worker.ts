/**
 * The program of the worker thread: parses YAML and returns it as JSON. `yaml-worker-client.ts` is
 * its client.
 *
 * The thread receives a text and returns a result. It has a lower priority than other threads, and
 * ends after an idle time.
 */
import { readlinkSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { systemClock, type Timer } from "@kcp-ts/machinery/base";
import { translateYaml } from "./translate-yaml.ts";
import type { WorkerMessage, WorkerOptions } from "./yaml-worker-client.ts";

/** Relative to the event loop: the thread gets a tenth of a processor that both need. */
const niceness = 10;

const port = parentPort as MessagePort;
const { idleMs } = workerData as WorkerOptions;

/** Set after the first text, for which the thread was started. */
let rest: Timer | undefined;
port.on("message", (bytes: Uint8Array) => {
  rest?.cancel();
  const translated = translateYaml(Buffer.from(bytes.buffer).toString("utf8"));
  postResult({ translated }, "json" in translated ? [translated.json.buffer as ArrayBuffer] : []);
  rest = systemClock.schedule(idleMs, () => port.close());
});
postResult({ thread: lowerPriority() });

function postResult(message: WorkerMessage, transferred: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, transferred);
}

/**
 * Linux has ids and priorities of threads. On other systems, the priority would be that of the
 * whole process, and nothing is changed.
 */
function lowerPriority(): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(thread, Math.min(getPriority(thread) + niceness, constants.priority.PRIORITY_LOW));
    return thread;
  } catch {
    // A sandbox may provide neither. The thread then competes with the event loop for processors.
    return undefined;
  }
}
