/**
 * Finds this machine's kubeconfig as kubectl does: an explicit path, else the files of KUBECONFIG,
 * else `~/.kube/config`, else the service account of the Pod in which the process runs.
 */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { type ConnectOptions, connect, type KubeconfigConnection } from "./connect.ts";
import { KubeconfigError } from "./fields.ts";
import { inClusterKubeconfig } from "./in-cluster.ts";
import { type Kubeconfig, mergeKubeconfigs, parseKubeconfig } from "./kubeconfig.ts";
import type { Environment } from "./proxy.ts";

export interface LoadOptions {
  /** A file that must exist; no other source is read. */
  readonly path?: string | undefined;
  readonly env?: Environment;
  readonly home?: string;
}

/** Files of KUBECONFIG that do not exist are skipped, as in kubectl. */
export async function loadKubeconfig(options: LoadOptions = {}): Promise<Kubeconfig> {
  const env = options.env ?? process.env;
  if (options.path !== undefined) {
    const config = await readKubeconfig(options.path);
    if (config === undefined) throw new KubeconfigError(`${options.path} does not exist`);
    return config;
  }
  const named = (env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  const paths = named.length > 0 ? named : [join(options.home ?? homedir(), ".kube", "config")];
  const configs: Kubeconfig[] = [];
  for (const path of new Set(paths)) {
    const config = await readKubeconfig(path);
    if (config !== undefined) configs.push(config);
  }
  return mergeKubeconfigs(configs);
}

/**
 * Connects to the cluster of the program's kubeconfig, or to the cluster in which the program runs.
 */
export async function connectDefault(
  options: LoadOptions & ConnectOptions = {},
): Promise<KubeconfigConnection> {
  const kubeconfig = await loadKubeconfig(options);
  if (kubeconfig.contexts.size > 0 || options.path !== undefined || options.context !== undefined) {
    return connect(kubeconfig, options);
  }
  const inCluster = await inClusterKubeconfig(options);
  if (inCluster === undefined) {
    const { KUBECONFIG: named = "" } = options.env ?? process.env;
    const missing =
      named === ""
        ? "~/.kube/config does not exist"
        : `KUBECONFIG is ${named}, which does not exist`;
    throw new KubeconfigError(
      `there is no kubeconfig: ${missing} or has no contexts, and this is not a Pod. ` +
        "Next: set KUBECONFIG to the path of one",
    );
  }
  return connect(inCluster, options);
}

async function readKubeconfig(path: string): Promise<Kubeconfig | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new KubeconfigError(`${path} cannot be read: ${(error as Error).message}`);
  }
  const folder = dirname(resolve(path));
  try {
    return parseKubeconfig(text, { trust: { resolvePath: (one) => resolve(folder, one) } });
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new KubeconfigError(`${path}: ${error.message}`);
  }
}
