/** One run of the plugin: a kubeconfig file, its server, and the output for users. */
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Connection,
  connect,
  type DynamicObject,
  defineResource,
  formatKubeconfigDocument,
  type KubeconfigDocument,
  parseKubeconfig,
  readKubeconfigDocument,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import {
  type ConnectionFlags,
  type ContextTarget,
  currentContextOf,
  currentContextTarget,
  flagContextName,
  withConnectionFlags,
} from "./kubeconfig-contexts.ts";
import { parseServerAddress, resolveWorkspace, type ServerAddress } from "./server-address.ts";

export interface SessionFlags extends ConnectionFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Another workspace than that of the kubeconfig. */
  readonly workspace?: string;
}

export const workspaces = defineResource<DynamicObject>(kinds.workspaces);

export class Session {
  readonly #path: string;
  document: KubeconfigDocument;
  readonly #flags: SessionFlags;
  readonly #connections: Connection[] = [];

  private constructor(path: string, document: KubeconfigDocument, flags: SessionFlags) {
    this.#path = path;
    this.document = document;
    this.#flags = flags;
  }

  static async open(flags: SessionFlags): Promise<Session> {
    const path = await kubeconfigPath(flags.kubeconfig);
    return new Session(path, readKubeconfigDocument(await readFile(path, "utf8")), flags);
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) await connection.close();
  }

  print(line: string): void {
    process.stdout.write(`${line}\n`);
  }

  note(line: string): void {
    process.stderr.write(`${line}\n`);
  }

  get contextName(): string {
    return this.#flags.context ?? currentContextOf(this.document);
  }

  get contextTarget(): ContextTarget {
    return currentContextTarget(this.document, this.#flags.context);
  }

  get serverUrl(): string {
    return this.#flags.server ?? String(this.contextTarget.cluster["server"] ?? "");
  }

  /** The namespace of the context. */
  get namespace(): string {
    const { namespace } = this.contextTarget.context;
    return typeof namespace === "string" && namespace !== "" ? namespace : "default";
  }

  /** A file that the kubeconfig names. */
  readKubeconfigFile(path: string): Promise<string> {
    return readFile(resolve(dirname(this.#path), path), "utf8");
  }

  /** The workspace of this run. */
  get address(): ServerAddress {
    const address = parseServerAddress(this.serverUrl);
    if (address === undefined)
      throw new Error(`current URL "${this.serverUrl}" does not point to a workspace`);
    const { workspace } = this.#flags;
    if (workspace === undefined) return address;
    return { ...address, workspace: resolveWorkspace(address.workspace, workspace) };
  }

  /** A client of a workspace on the kubeconfig's server. */
  clientIn(workspace: string): Client {
    return this.#client().inCluster(workspace);
  }

  #client(): Client {
    const [known] = this.#connections;
    if (known !== undefined) return known.client;
    const folder = dirname(this.#path);
    const document = withConnectionFlags(this.document, this.contextTarget, this.#flags);
    const kubeconfig = parseKubeconfig(formatKubeconfigDocument(document), {
      trust: { resolvePath: (path) => resolve(folder, path) },
    });
    const connection = connect(kubeconfig, { context: flagContextName });
    this.#connections.push(connection);
    return connection.client;
  }

  /** Replaces the file atomically: a truncated file would lock its owner out. */
  async save(document: KubeconfigDocument): Promise<void> {
    this.document = document;
    const temporary = `${this.#path}.${process.pid}.tmp`;
    await writeFile(temporary, formatKubeconfigDocument(document), { mode: 0o600 });
    await rename(temporary, this.#path);
  }
}

/**
 * kubectl's order: the flag, the first file of KUBECONFIG that exists, the file in the home
 * directory.
 */
async function kubeconfigPath(flag: string | undefined): Promise<string> {
  if (flag !== undefined) return flag;
  const named = (process.env["KUBECONFIG"] ?? "").split(delimiter).filter((one) => one !== "");
  for (const path of named) if (await isFile(path)) return path;
  return named[0] ?? join(homedir(), ".kube", "config");
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

/** `root:organization`, or undefined when it is unknown. */
export async function typeOfWorkspace(session: Session, path: string): Promise<string | undefined> {
  const at = path.lastIndexOf(":");
  if (at < 0) return undefined;
  const name = path.slice(at + 1);
  try {
    const found = await session.clientIn(path.slice(0, at)).resource(workspaces).find({ name });
    return found === undefined ? undefined : typeTextOf(found);
  } catch (error) {
    // A user who may not read the parent may still use the workspace.
    if (isStatusError(error, "Forbidden") || isStatusError(error, "NotFound")) return undefined;
    throw error;
  }
}

export function typeTextOf(workspace: DynamicObject): string | undefined {
  const { type } = (workspace["spec"] ?? {}) as JsonObject as {
    type?: { name: string; path?: string };
  };
  if (type === undefined) return undefined;
  return type.path === undefined ? type.name : `${type.path}:${type.name}`;
}
