/** Steps of a start that fail for reasons outside: their errors name the thing and the next step. */
import { mkdir, readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import type { Listener } from "@kcp-ts/server";
import { isStorageError } from "@kcp-ts/server/storage";
import { type ControlPlaneOptions, OptionsError } from "../options.ts";

export async function makeRootDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new OptionsError(
      `cannot use the root directory ${path}: ${reasonOf(error)}; give another --root-directory, or make this one a directory that can be written`,
      { cause: error },
    );
  }
}

/** The content of a file that a flag names. */
export async function readFlagFile(flag: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new OptionsError(
      `cannot read the file that ${flag} names, ${path}: ${reasonOf(error)}; correct the path or its permissions`,
      { cause: error },
    );
  }
}

/** Runs the first call that reaches etcd. */
export async function reachEtcd<T>(servers: readonly string[], body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (!isStorageError(error, "unavailable")) throw error;
    throw new OptionsError(
      `cannot use etcd at ${servers.join(",")}: ${error.message}; start etcd, or correct --etcd-servers`,
      { cause: error },
    );
  }
}

export async function listen(
  listener: Listener,
  { bindAddress, securePort }: ControlPlaneOptions,
): Promise<AddressInfo> {
  try {
    return await listener.listen();
  } catch (error) {
    const hint = listenHints.get(codeOf(error)) ?? "give another --bind-address or --secure-port";
    throw new OptionsError(
      `cannot listen on ${bindAddress} port ${securePort}: ${reasonOf(error)}; ${hint}`,
      { cause: error },
    );
  }
}

const listenHints = new Map([
  ["EADDRINUSE", "stop what listens there, or give another --secure-port (0 takes a free one)"],
  ["EADDRNOTAVAIL", "give a --bind-address that this machine has"],
  ["EACCES", "give a --secure-port above 1023, or the right to use this one"],
]);

/** For people: what the system says, without the name of a system call. */
const reasons = new Map([
  ["EADDRINUSE", "the port is in use"],
  ["EADDRNOTAVAIL", "this machine does not have that address"],
  ["EACCES", "permission denied"],
  ["EPERM", "permission denied"],
  ["ENOENT", "there is no such file"],
  ["EEXIST", "it is a file, not a directory"],
  ["ENOTDIR", "a part of the path is a file, not a directory"],
  ["EISDIR", "it is a directory, not a file"],
  ["EROFS", "the file system is read-only"],
  ["ENOSPC", "the disk is full"],
]);

export function reasonOf(error: unknown): string {
  return reasons.get(codeOf(error)) ?? (error instanceof Error ? error.message : String(error));
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code ?? "");
}
