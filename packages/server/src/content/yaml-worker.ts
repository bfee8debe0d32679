/**
 * A program for a thread of its own: reads YAML and tells what it says as JSON. `yaml-thread.ts` is the way to it.
 *
 * A text comes in, an answer goes out. The thread gives way to whoever wants its processor, and ends when it has had nothing to do for a while.
 */
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { systemClock } from "@kcp-ts/machinery/base";
import { translateYaml } from "./translate-yaml.ts";
import type { WorkerMessage, WorkerOptions } from "./yaml-thread.ts";

/** The event loop of the server is at 0, and what is higher waits. */
const niceness = 10;

const port = parentPort as MessagePort;
const { idleMs } = workerData as WorkerOptions;
const rest = () => systemClock.schedule(idleMs, () => port.close());

let resting = rest();
port.on("message", (bytes: Uint8Array) => {
  resting.cancel();
  const translated = translateYaml(Buffer.from(bytes.buffer).toString("utf8"));
  tell({ translated }, "json" in translated ? [translated.json.buffer as ArrayBuffer] : []);
  resting = rest();
});
tell({ thread: lowerPriority() });

function tell(message: WorkerMessage, transferred: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, transferred);
}

/** Linux knows threads by numbers of their own, and the priority of each. Elsewhere it would be that of the whole process, and nothing is done. */
function lowerPriority(): number | undefined {
  if (process.platform !== "linux") return undefined;
  const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
  setPriority(thread, niceness);
  return thread;
}
