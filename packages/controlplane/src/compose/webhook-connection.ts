/**
 * A connection to the operator's webhook, whose address and credentials are in a kubeconfig:
 * requests go to the server's URL itself, path and query included.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { bounds } from "@kcp-ts/machinery/bounds";
import { connect, loadKubeconfig } from "@kcp-ts/sdk";
import { OptionsError } from "../options.ts";

export interface WebhookConnection {
  /** Sends JSON and returns the response. Rejects without a response within half a minute. */
  post(body: Uint8Array | string): Promise<{ readonly status: number; readonly text: string }>;
  /** An open connection would keep the process alive. */
  close(): Promise<void>;
}

const timeoutMs = 30_000;

export async function connectWebhook(configFile: string, clock: Clock): Promise<WebhookConnection> {
  const { transport, close } = connect(await loadKubeconfig({ path: configFile }), { clock });
  const path = await pathOf(configFile);
  return {
    async post(body) {
      const giveUp = new AbortController();
      const timer = clock.schedule(timeoutMs, () => giveUp.abort(new Error("timed out")));
      try {
        const headers = { "content-type": "application/json" };
        const { signal } = giveUp;
        const answer = await transport.send({ method: "POST", path, headers, body, signal });
        return {
          status: answer.status,
          text: await answer.body.text(bounds.reviewAnswer.bytesMax),
        };
      } finally {
        timer.cancel();
      }
    },
    close,
  };
}

async function pathOf(configFile: string): Promise<string> {
  const { contexts, clusters, currentContext } = await loadKubeconfig({ path: configFile });
  const cluster = clusters.get(contexts.get(currentContext ?? "")?.cluster ?? "");
  if (cluster === undefined) throw new OptionsError(`${configFile} names no server`);
  const { pathname, search } = new URL(cluster.server);
  return pathname + search;
}
