/** admin.kubeconfig: the operator's credentials and address of a fresh control plane. */
import { type AdminTokens, formatTokenStore } from "./admin-tokens.ts";
import { writePrivateFile } from "./private-file.ts";

export interface AdminKubeconfig extends AdminTokens {
  /** `https://host:port`, without a path. */
  readonly serverUrl: string;
  readonly caPem: string;
  /** The first is the current one; those of kcp if omitted. */
  readonly contexts?: readonly KubeconfigContext[] | undefined;
}

export interface KubeconfigContext {
  readonly name: string;
  readonly user: "kcp-admin" | "shard-admin" | "user";
  /** The path after the server's address. */
  readonly path: string;
}

/**
 * Writes the kubeconfig, then the token store: a crash in between leaves a kubeconfig without a
 * store, and the next start creates new tokens. Scripts wait for the kubeconfig to appear, so call
 * this when the server is about to be ready.
 */
export async function writeAdminKubeconfig(
  options: AdminKubeconfig & { readonly path: string; readonly tokenStorePath: string },
): Promise<void> {
  await writePrivateFile(options.path, formatAdminKubeconfig(options));
  await writePrivateFile(options.tokenStorePath, formatTokenStore(options));
}

export function formatAdminKubeconfig(config: AdminKubeconfig): string {
  const { userToken: plainToken, contexts: own = adminContexts } = config;
  const contexts = plainToken === undefined ? own : [...own, userContext];
  const base = config.serverUrl.replace(/\/+$/, "");
  const ca = Buffer.from(config.caPem, "utf8").toString("base64");
  return [
    "apiVersion: v1",
    "kind: Config",
    "preferences: {}",
    `current-context: ${contexts[0]?.name ?? ""}`,
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

/** Upstream kcp's names; each context has a cluster entry of the same name. */
const adminContexts: readonly KubeconfigContext[] = [
  { name: "root", user: "kcp-admin", path: "/clusters/root" },
  { name: "base", user: "kcp-admin", path: "" },
  { name: "system:admin", user: "shard-admin", path: "/clusters/system:admin" },
  { name: "shard-base", user: "shard-admin", path: "" },
];
const userContext: KubeconfigContext = { name: "user", user: "user", path: "" };
/** The context of a plain API server. */
export const aloneContexts: readonly KubeconfigContext[] = [
  { name: "admin", user: "kcp-admin", path: "" },
  { name: "system:admin", user: "shard-admin", path: "" },
];

function userToken(name: string, token: string): string[] {
  return [`- name: ${quoted(name)}`, "  user:", `    token: ${quoted(token)}`];
}

/** A JSON string is always a valid YAML string. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
