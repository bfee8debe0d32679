/**
 * Where histories happen: a store, the servers on it, and everything that can be broken about them.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type EtcdCluster, FaultProxy, startEtcd } from "@kcp-ts/testkit";
import { ServerProcess } from "./server-process.ts";
import type { StorageSettings } from "./server-settings.ts";

const run = promisify(execFile);

export const configurations = [
  "memory",
  "embedded",
  "etcd-1x1",
  "etcd-3x1",
  "etcd-1x3",
  "etcd-3x3",
] as const;

/** `etcd-<members>x<servers>`. */
export type Configuration = (typeof configurations)[number];

export interface HistoryEnvironment {
  readonly configuration: Configuration;
  readonly servers: readonly ServerProcess[];
  readonly etcd?: EtcdCluster | undefined;
  /** Between each server and each member, in that order. */
  readonly links: readonly (readonly FaultProxy[])[];
  /** A small disk that can be filled; absent where it cannot be mounted. */
  readonly disk?: string | undefined;
  close(): Promise<void>;
}

export async function openEnvironment(
  configuration: Configuration,
  allowsSeededBugs = false,
): Promise<HistoryEnvironment> {
  const cleanups: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  };
  const startServer = async (name: string, storage: StorageSettings) => {
    const server = await ServerProcess.start(name, { storage, allowsSeededBugs });
    cleanups.push(() => server.close());
    return server;
  };
  try {
    if (configuration === "memory") {
      const server = await startServer("s0", { kind: "memory" });
      return { configuration, servers: [server], links: [], close };
    }
    if (configuration === "embedded") {
      const { folder, isSmall } = await smallDisk(cleanups);
      const directory = join(folder, "data");
      const server = await startServer("s0", { kind: "embedded", directory });
      const disk = isSmall ? folder : undefined;
      return { configuration, servers: [server], links: [], disk, close };
    }
    const [members, count] = configuration.slice("etcd-".length).split("x").map(Number);
    const etcd = await startEtcd({ members: members as 1 | 3, peerProxies: true });
    cleanups.push(() => etcd.dispose());
    const links: FaultProxy[][] = [];
    const servers: ServerProcess[] = [];
    for (let index = 0; index < (count as number); index++) {
      const row = await Promise.all(etcd.endpoints.map(linkTo));
      cleanups.push(() => Promise.all(row.map((link) => link.dispose())));
      links.push(row);
      const endpoints = row.map(({ port }) => `http://127.0.0.1:${port}`);
      servers.push(await startServer(`s${index}`, { kind: "etcd", endpoints }));
    }
    return { configuration, servers, etcd, links, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function linkTo(endpoint: string): Promise<FaultProxy> {
  const { hostname, port } = new URL(endpoint);
  return FaultProxy.start({ host: hostname, port: Number(port) });
}

/** A tmpfs of its own where that is allowed, else a folder. */
async function smallDisk(cleanups: (() => Promise<unknown>)[]) {
  const folder = await mkdtemp(join(tmpdir(), "kcp-histories-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  try {
    await run("mount", ["-t", "tmpfs", "-o", "size=96m", "tmpfs", folder]);
  } catch {
    return { folder, isSmall: false };
  }
  cleanups.push(() => run("umount", ["-l", folder]));
  return { folder, isSmall: true };
}
