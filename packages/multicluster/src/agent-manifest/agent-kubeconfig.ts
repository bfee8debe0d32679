/**
 * The kubeconfig with which an agent reaches the control plane: the view of its SyncTarget, and a
 * token in a file next to the kubeconfig, which is replaced before the token expires.
 */
import type { TargetIdentity } from "../syncer/index.ts";
import { base64 } from "./base64.ts";

/** The address at which agents reach the control plane. */
export interface AgentServer {
  /** The URL without a path. */
  readonly url: string;
  /**
   * The CA that signs the server's certificate; the trust store of the agent's machine if omitted.
   */
  readonly caPem?: string | undefined;
}

export const tokenFileName = "token";

export function agentViewPath({ cluster, name, uid }: TargetIdentity): string {
  return `/services/syncer/${cluster}/${name}/${uid}`;
}

export function agentKubeconfig({ url, caPem }: AgentServer, target: TargetIdentity): string {
  const server = `${url.replace(/\/+$/, "")}${agentViewPath(target)}`;
  const authority = caPem === undefined ? {} : { "certificate-authority-data": base64(caPem) };
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "kcp", cluster: { server, ...authority } }],
    users: [{ name: "agent", user: { tokenFile: tokenFileName } }],
    contexts: [{ name: "kcp", context: { cluster: "kcp", user: "agent" } }],
    "current-context": "kcp",
  };
  return `${JSON.stringify(kubeconfig, undefined, 2)}\n`;
}
