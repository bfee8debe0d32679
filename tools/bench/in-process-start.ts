/**
 * How long a control plane in memory takes to start inside a process that has loaded it. A program
 * of its own.
 *
 *     in-process-start.js <directory> <times>
 *
 * Prints milliseconds, one line for each start: keys, certificates, kubeconfig, server and
 * listener, in a fresh directory.
 */
import { join } from "node:path";
import { controlPlaneDefaults, startControlPlane } from "@kcp-ts/controlplane";
import { systemClock } from "@kcp-ts/machinery/base";

const [directory = "", times] = process.argv.slice(2);
const nothing = () => undefined;
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing, isDebugEnabled: false };

for (let i = 0; i < Number(times); i++) {
  const options = {
    ...controlPlaneDefaults,
    rootDirectory: join(directory, `in-process-${i}`),
    bindAddress: "127.0.0.1",
    securePort: 0,
    storage: { kind: "memory" } as const,
  };
  const startedAt = systemClock.monotonic();
  const plane = await startControlPlane(options, { log });
  console.log(String(systemClock.monotonic() - startedAt));
  await plane.stop();
}
