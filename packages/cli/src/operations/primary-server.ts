/** The server that a standby follows, through its API. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Primary, replicationPath, storeHeader } from "@kcp-ts/controlplane";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { connect, loadKubeconfig } from "@kcp-ts/sdk/kubeconfig";

export interface PrimaryServer extends Primary {
  readonly server: string;
  /** Tells the server that it is no primary any more, until it has answered. */
  supersede(by: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

const defaultContext = "shard-base";
const retryMs = 1000;
const refusalCharactersMax = 1000;

export async function primaryOf(path: string, context?: string): Promise<PrimaryServer> {
  const kubeconfig = await loadKubeconfig({ path });
  const named = context ?? (kubeconfig.contexts.has(defaultContext) ? defaultContext : undefined);
  const { transport, close } = connect(kubeconfig, { context: named });
  const cluster = kubeconfig.contexts.get(named ?? kubeconfig.currentContext ?? "")?.cluster ?? "";
  const send = async (method: "GET" | "POST", target: string, signal: AbortSignal) => {
    const answer = await transport.send({ method, path: target, headers: {}, signal });
    if (answer.status === 200 || answer.status === 410) return answer;
    const text = await answer.body.text(refusalCharactersMax);
    throw new Error(`${method} ${target}: the primary answered ${answer.status}: ${text}`);
  };
  return {
    server: kubeconfig.clusters.get(cluster)?.server ?? path,
    backup: async (signal) => (await send("GET", "/backup", signal)).body,
    async changes(after, signal) {
      const target = `${replicationPath}?afterRevision=${after}`;
      const { status, headers, body } = await send("GET", target, signal);
      if (status === 410) {
        await body.text(refusalCharactersMax);
        return undefined;
      }
      return { store: String(headers[storeHeader]), frames: body };
    },
    async supersede(by, signal) {
      const target = `${replicationPath}?by=${encodeURIComponent(by)}`;
      for (;;) {
        signal.throwIfAborted();
        try {
          await (await send("POST", target, signal)).body.text(refusalCharactersMax);
          return;
        } catch {
          // It is down, or cannot be reached: it is told when it is back.
          await sleep(systemClock, retryMs, signal);
        }
      }
    },
    close,
  };
}

/** Runs the command until it succeeds. */
export async function fencePrimary(
  command: string,
  { signal, onFailure }: { signal: AbortSignal; onFailure: (reason: string) => void },
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const child = spawn(command, { shell: true, stdio: ["ignore", "inherit", "inherit"], signal });
    const [code, killedBy] = (await once(child, "close")) as [number | null, string | null];
    if (code === 0) return;
    onFailure(code === null ? `it was ended by ${killedBy}` : `exit code ${code}`);
    await sleep(systemClock, retryMs, signal);
  }
}
