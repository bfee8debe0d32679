/**
 * A program for a thread of its own: reads YAML and tells what it says as JSON. `yaml-thread.ts` is the way to it.
 *
 * A text comes in, an answer goes out. The thread gives way to whoever wants its processor, and ends when it has had nothing to do for a while.
 */
import { readlinkSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { systemClock, type Timer } from "@kcp-ts/machinery/base";
import { translateYaml } from "./translate-yaml.ts";
import type { WorkerMessage, WorkerOptions } from "./yaml-thread.ts";

/** So much lower than that of the event loop: it gets a tenth of a processor that both want. */
const niceness = 10;

const port = parentPort as MessagePort;
const { idleMs } = workerData as WorkerOptions;

/** Not before the first text, for which it was started. */
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

/** Linux knows threads by numbers of their own, and the priority of each. Elsewhere it would be that of the whole process, and nothing is done. */
function lowerPriority(): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(thread, Math.min(getPriority(thread) + niceness, constants.priority.PRIORITY_LOW));
    return thread;
  } catch {
    // A sandbox may have neither. Then it competes with the event loop for processors, which is better than that nobody reads.
    return undefined;
  }
}
