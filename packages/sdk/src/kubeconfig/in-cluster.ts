/** The kubeconfig of a Pod's service account. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Kubeconfig } from "./kubeconfig.ts";
import type { Environment } from "./proxy.ts";

export interface InClusterOptions {
  readonly env?: Environment;
  readonly folder?: string;
}

const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Undefined outside of a Pod. The token file is read again as the kubelet renews it. */
export async function inClusterKubeconfig(
  options: InClusterOptions = {},
): Promise<Kubeconfig | undefined> {
  const env = options.env ?? process.env;
  const folder = options.folder ?? serviceAccountFolder;
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  const namespace = await readOptional(join(folder, "namespace"));
  if (!host || !port || (await readOptional(join(folder, "token"))) === undefined) return undefined;
  const isIPv6 = host.includes(":");
  return {
    currentContext: "in-cluster",
    clusters: new Map([
      [
        "in-cluster",
        {
          server: `https://${isIPv6 ? `[${host}]` : host}:${port}`,
          tlsServerName: undefined,
          insecureSkipTlsVerify: false,
          certificateAuthority: { file: join(folder, "ca.crt") },
          proxyUrl: undefined,
          disableCompression: false,
          execConfig: undefined,
        },
      ],
    ]),
    users: new Map([
      [
        "service-account",
        {
          clientCertificate: undefined,
          clientKey: undefined,
          token: undefined,
          tokenFile: join(folder, "token"),
          username: undefined,
          password: undefined,
          impersonate: undefined,
          exec: undefined,
        },
      ],
    ]),
    contexts: new Map([
      ["in-cluster", { cluster: "in-cluster", user: "service-account", namespace }],
    ]),
  };
}

async function readOptional(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
