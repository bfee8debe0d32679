/** An agent's way to the control plane: the view of its SyncTarget, and a token in a file beside the kubeconfig, which is replaced before it runs out. */
import type { TargetIdentity } from "../syncer/index.ts";

/** Where agents reach the control plane. */
export interface AgentServer {
  /** Without a path. */
  readonly url: string;
  /** What its certificate is verified by; what the agent's machine trusts, if left out. */
  readonly caPem?: string | undefined;
}

export const tokenFileName = "token";

export function agentViewPath({ cluster, name, uid }: TargetIdentity): string {
  return `/services/syncer/${cluster}/${name}/${uid}`;
}

export function agentKubeconfig({ url, caPem }: AgentServer, target: TargetIdentity): string {
  const server = `${url.replace(/\/+$/, "")}${agentViewPath(target)}`;
  const authority =
    caPem === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(caPem, "utf8").toString("base64") };
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
