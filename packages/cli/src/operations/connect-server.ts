/** Connects to a server as its administrator, by the kubeconfig that it has written. */
import { join, resolve } from "node:path";
import { type Connection, connect, loadKubeconfig } from "@kcp-ts/sdk";

export interface ServerFlags {
  readonly rootDirectory: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

export interface ServerConnection extends Connection {
  /** The server's URL without a path. */
  readonly url: URL;
  readonly kubeconfigPath: string;
  /** The text at a path that is no resource, with the status of the response. */
  read(path: string): Promise<ReadText>;
}

export interface ReadText {
  readonly status: number;
  readonly text: string;
  /** The server's time, by its Date header. */
  readonly dateMs: number | undefined;
}

/** A client of a user who passes every check, without a logical cluster. */
const defaultContext = "shard-base";
/** Metrics of a server are some hundred kilobytes. */
const bytesMax = 32 << 20;
const timeoutMs = 10_000;

export async function connectServer(flags: ServerFlags): Promise<ServerConnection> {
  const path = flags.kubeconfig ?? join(resolve(flags.rootDirectory), "admin.kubeconfig");
  const kubeconfig = await loadKubeconfig({ path });
  const context =
    flags.context ?? (kubeconfig.contexts.has(defaultContext) ? defaultContext : undefined);
  const name = context ?? kubeconfig.currentContext ?? "";
  const cluster = kubeconfig.clusters.get(kubeconfig.contexts.get(name)?.cluster ?? "");
  const connection = connect(kubeconfig, { context });
  const read = async (target: string): Promise<ReadText> => {
    const { status, headers, body } = await connection.transport.send({
      method: "GET",
      path: target,
      headers: {},
      signal: AbortSignal.timeout(timeoutMs),
    });
    const dateMs = Date.parse(String(headers["date"] ?? ""));
    const text = await body.text(bytesMax);
    return { status, text, dateMs: Number.isNaN(dateMs) ? undefined : dateMs };
  };
  const url = new URL(new URL(cluster?.server ?? "https://localhost:6443").origin);
  return { ...connection, url, kubeconfigPath: path, read };
}
