/**
 * Where etcd is on this machine: the variable `ETCD`, the envtest directory `KUBEBUILDER_ASSETS`,
 * or the search path.
 */
import { execFileSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { isExecutable } from "./executables.ts";

/** The path of an executable etcd, or undefined when there is none. */
export function findEtcd(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const named = environment["ETCD"];
  if (named !== undefined && named !== "") {
    if (!isExecutable(named)) throw new Error(`ETCD names ${named}, which is not an executable`);
    return named;
  }
  const folders = [
    environment["KUBEBUILDER_ASSETS"],
    ...(environment["PATH"] ?? "").split(delimiter),
  ];
  for (const folder of folders) {
    if (folder === undefined || folder === "") continue;
    const path = join(folder, "etcd");
    if (isExecutable(path)) return path;
  }
  return undefined;
}

/** What a test says when it cannot run, or undefined when etcd is there. */
export function etcdMissing(): string | undefined {
  return findEtcd() === undefined
    ? "needs etcd: install the package etcd-server, or set ETCD to its path"
    : undefined;
}

export interface EtcdVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

export function etcdVersion(binary: string): EtcdVersion {
  const text = execFileSync(binary, ["--version"], { encoding: "utf8" });
  const match = /etcd Version: (\d+)\.(\d+)\.(\d+)/.exec(text);
  if (match === null) throw new Error(`${binary} --version says: ${text}`);
  const [, major, minor, patch] = match;
  return { major: Number(major), minor: Number(minor), patch: Number(patch) };
}
