/**
 * Steps of a start that fail for external reasons: their errors name the object and the next step.
 */
import { access, constants, mkdir, readFile, stat } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import type { Listener } from "@kcp-ts/apiserver";
import { isStorageError } from "@kcp-ts/apiserver/storage";
import { type ControlPlaneOptions, OptionsError } from "../options.ts";

export async function makeRootDirectory(path: string): Promise<void> {
  await makeFolder(path, { what: "the root directory", flag: "--root-directory" });
}

/** Creates a writable folder and its parents; `what` and `flag` are for the error. */
export async function makeFolder(
  path: string,
  { what, flag }: { readonly what: string; readonly flag: string },
): Promise<void> {
  try {
    await make(path);
    await access(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new OptionsError(
      `cannot use ${what} ${path}: ${reasonOf(error)}; give another ${flag}, or make this one a directory that can be written`,
      { cause: error },
    );
  }
}

/**
 * Creates the folder and its parents. Not by `recursive`: where folders cannot be created and the
 * system reports that a part of the path does not exist (`/proc`), Node retries for ever.
 */
async function make(path: string): Promise<void> {
  const missing: string[] = [];
  for (let folder = path; !(await isFolder(folder)); folder = dirname(folder)) missing.push(folder);
  for (const folder of missing.reverse()) {
    await mkdir(folder, { mode: 0o700 }).catch(async (error: unknown) => {
      // Another process created it at the same time.
      if (codeOf(error) !== "EEXIST" || !(await isFolder(folder))) throw error;
    });
  }
}

/** False when there is no such path; a path that is no folder is rejected. */
async function isFolder(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).isDirectory()) return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
  throw Object.assign(new Error(`${path} is no directory`), { code: "EEXIST" });
}

/** The content of the file that a flag names, if it names one. */
export async function readFlagFile<Path extends string | undefined>(
  flag: string,
  path: Path,
): Promise<string | Exclude<Path, string>> {
  try {
    return path === undefined ? (path as Exclude<Path, string>) : await readFile(path, "utf8");
  } catch (error) {
    throw new OptionsError(
      `cannot read the file that ${flag} names, ${path}: ${reasonOf(error)}; correct the path or its permissions`,
      { cause: error },
    );
  }
}

/** Runs the first request to etcd. */
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

/** For users: the system's message, without the name of a system call. */
const reasons = new Map([
  ["EADDRINUSE", "the port is in use"],
  ["EADDRNOTAVAIL", "this machine does not have that address"],
  ["EACCES", "permission denied"],
  ["EPERM", "permission denied"],
  ["ENOENT", "there is no such file or directory"],
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
