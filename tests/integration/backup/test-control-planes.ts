/** For tests: control planes in temporary directories, and clients for their users. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { ServerLog } from "@kcp-ts/apiserver";
import type { BackupContext } from "@kcp-ts/controlplane";
import {
  type ControlPlane,
  type ControlPlaneOptions,
  controlPlaneDefaults,
  type StorageOptions,
  startControlPlane,
} from "@kcp-ts/controlplane";
import {
  type Client,
  type Connection,
  connect,
  defineResource,
  type KubernetesObject,
  loadKubeconfig,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";

export const silentLog: ServerLog = {
  isDebugEnabled: false,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export function withoutLog(): BackupContext {
  return { log: silentLog, signal: new AbortController().signal };
}

export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "kcp-backup-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export interface StartedControlPlane {
  readonly controlPlane: ControlPlane;
  /** As shard-admin, who may also read all clusters at once, in the logical cluster named. */
  client(cluster: string): Client;
  connection(context: string): Promise<Connection>;
  stop(): Promise<void>;
}

export async function startControlPlaneForBackup(
  t: TestContext,
  rootDirectory: string,
  storage: StorageOptions = { kind: "embedded" },
  options: Partial<ControlPlaneOptions> = {},
): Promise<StartedControlPlane> {
  const controlPlane = await startControlPlane(
    {
      ...controlPlaneDefaults,
      ...options,
      rootDirectory,
      storage,
      bindAddress: "127.0.0.1",
      securePort: 0,
      // Another address would be written down.
      shardExternalUrl: "https://kcp.example.com",
      // What is compared must be what the test wrote.
      controllers: false,
    },
    { log: silentLog },
  );
  const open: Connection[] = [];
  const connection = async (context: string) => {
    const made = connect(await loadKubeconfig({ path: controlPlane.kubeconfigPath }), { context });
    open.push(made);
    return made;
  };
  const { client } = await connection("shard-base");
  const stop = async () => {
    for (const one of open) await one.close();
    await controlPlane.stop();
  };
  t.after(stop);
  return { controlPlane, client: (cluster) => client.inCluster(cluster), connection, stop };
}

export interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const configMaps = defineResource<ConfigMap>(kinds.configMaps);
