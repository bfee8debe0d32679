/**
 * The kubeconfig of one context as a document without files and commands, which another machine can
 * read: as `kubectl config view --minify --flatten --raw` prints it.
 */
import { readFile } from "node:fs/promises";
import type { Kubeconfig } from "@kcp-ts/sdk";

type FileOrData = NonNullable<
  Kubeconfig["clusters"] extends ReadonlyMap<string, infer Entry>
    ? Entry extends { readonly certificateAuthority: infer Value }
      ? Value
      : never
    : never
>;

export async function inlineKubeconfig(
  kubeconfig: Kubeconfig,
  contextName: string | undefined,
): Promise<string> {
  const name = contextName ?? kubeconfig.currentContext ?? "";
  const context = kubeconfig.contexts.get(name);
  const cluster = kubeconfig.clusters.get(context?.cluster ?? "");
  const user = kubeconfig.users.get(context?.user ?? "");
  if (cluster === undefined)
    throw new Error(
      `the kubeconfig has no context ${JSON.stringify(name)}: name one by --cluster-context`,
    );
  if (user?.exec !== undefined)
    throw new Error(
      `the user of context ${JSON.stringify(name)} runs a command, which the control plane does not: use a kubeconfig with a token or a client certificate`,
    );
  const token =
    user?.token ??
    (user?.tokenFile === undefined ? undefined : (await readFile(user.tokenFile, "utf8")).trim());
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "cluster",
        cluster: {
          server: cluster.server,
          ...(cluster.tlsServerName && { "tls-server-name": cluster.tlsServerName }),
          ...(cluster.insecureSkipTlsVerify && { "insecure-skip-tls-verify": true }),
          ...(await member("certificate-authority-data", cluster.certificateAuthority)),
        },
      },
    ],
    users: [
      {
        name: "user",
        user: {
          ...(token && { token }),
          ...(await member("client-certificate-data", user?.clientCertificate)),
          ...(await member("client-key-data", user?.clientKey)),
          ...(user?.username && { username: user.username, password: user.password ?? "" }),
        },
      },
    ],
    contexts: [{ name: "context", context: { cluster: "cluster", user: "user" } }],
    "current-context": "context",
  });
}

async function member(
  name: string,
  value: FileOrData | undefined,
): Promise<Record<string, string>> {
  if (value === undefined) return {};
  const text = "data" in value ? value.data : await readFile(value.file, "utf8");
  return { [name]: Buffer.from(text).toString("base64") };
}
