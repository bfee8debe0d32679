/** The control loops of the server itself, in its own process: they speak to it as clients do, and could as well be elsewhere. */
import { namespaceController } from "@kcp-ts/controllers";
import type { Clock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { Client, formatKey, logicalClusters, Manager, type ObjectKey } from "@kcp-ts/sdk";
import type { ApiServer, ServerLog } from "@kcp-ts/server";
import { inProcessTransport } from "./in-process-transport.ts";
import type { InternalCredential } from "./internal-credential.ts";

export interface ControllersOptions {
  /** Started. */
  readonly server: Pick<ApiServer, "handle">;
  readonly credential: Pick<InternalCredential, "authorization">;
  /** What clients verify this server by. */
  readonly caPem: string;
  readonly log: ServerLog;
  readonly clock: Clock;
}

export interface RunningControllers {
  /** Finishes what is under way, then resolves. */
  stop(): Promise<void>;
}

export function startControllers(options: ControllersOptions): RunningControllers {
  const { log, clock } = options;
  const transport = inProcessTransport({
    server: options.server,
    authorization: options.credential.authorization,
  });
  const client = new Client({ transport, clock, userAgent: "kcp-controllers" });
  const clusters = logicalClusters({
    client,
    clock,
    onError: (error) => log.warn({ err: error }, "a controller's view was interrupted"),
  });
  const onError = (name: string) => (error: unknown, key: ObjectKey) => {
    // Somebody else wrote first: the next try sees what they wrote.
    if (isStatusError(error, "Conflict")) return;
    log.warn({ err: error, controller: name, key: formatKey(key) }, "reconciling failed");
  };
  const manager = new Manager({
    clusters: [clusters],
    controllers: [namespaceController({ clusters, clock, onError: onError("namespace") })],
  });
  const stopping = new AbortController();
  const running = manager
    .run(stopping.signal)
    .catch((error: unknown) => log.error({ err: error }, "the controllers have ended"));
  return {
    async stop() {
      stopping.abort();
      await running;
      await transport.close();
    },
  };
}
