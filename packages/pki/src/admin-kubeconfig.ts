/** admin.kubeconfig: how the operator's kubectl finds and enters a fresh control plane. */

import { type AdminTokens, formatTokenStore } from "./admin-tokens.ts";
import { writePrivateFile } from "./private-file.ts";

export interface AdminKubeconfig extends AdminTokens {
  /** `https://host:port`, without a path. */
  readonly serverUrl: string;
  readonly caPem: string;
}

/**
 * Writes the kubeconfig, then the token store: a crash in between leaves a kubeconfig without a store, and the next start
 * makes new tokens. Scripts wait for the kubeconfig to appear, so call this when the server is about to be ready.
 */
export async function writeAdminKubeconfig(
  options: AdminKubeconfig & { readonly path: string; readonly tokenStorePath: string },
): Promise<void> {
  await writePrivateFile(options.path, formatAdminKubeconfig(options));
  await writePrivateFile(options.tokenStorePath, formatTokenStore(options));
}

export function formatAdminKubeconfig(config: AdminKubeconfig): string {
  const { userToken: plainToken } = config;
  const contexts = plainToken === undefined ? adminContexts : [...adminContexts, userContext];
  const base = config.serverUrl.replace(/\/+$/, "");
  const ca = Buffer.from(config.caPem, "utf8").toString("base64");
  return [
    "apiVersion: v1",
    "kind: Config",
    "preferences: {}",
    "current-context: root",
    "clusters:",
    ...contexts.flatMap(({ name, path }) => [
      `- name: ${quoted(name)}`,
      "  cluster:",
      `    certificate-authority-data: ${ca}`,
      `    server: ${quoted(base + path)}`,
    ]),
    "contexts:",
    ...contexts.flatMap(({ name, user }) => [
      `- name: ${quoted(name)}`,
      "  context:",
      `    cluster: ${quoted(name)}`,
      `    user: ${quoted(user)}`,
    ]),
    "users:",
    ...userToken("kcp-admin", config.adminToken),
    ...userToken("shard-admin", config.shardAdminToken),
    ...(plainToken === undefined ? [] : userToken("user", plainToken)),
    "",
  ].join("\n");
}

/** As upstream kcp names them; each context has a cluster entry of the same name. */
const adminContexts = [
  { name: "root", user: "kcp-admin", path: "/clusters/root" },
  { name: "base", user: "kcp-admin", path: "" },
  { name: "system:admin", user: "shard-admin", path: "/clusters/system:admin" },
  { name: "shard-base", user: "shard-admin", path: "" },
] as const;
const userContext = { name: "user", user: "user", path: "" } as const;

function userToken(name: string, token: string): string[] {
  return [`- name: ${quoted(name)}`, "  user:", `    token: ${quoted(token)}`];
}

/** A JSON string is a YAML string, whatever is in it. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
