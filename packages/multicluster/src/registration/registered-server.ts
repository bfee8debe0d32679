/**
 * Which server a kubeconfig in a Secret may name. A user who may change the Secret can renew
 * credentials; the server's address is decided by the user who registered the cluster, and is
 * recorded on the SyncTarget, where admission lets no other user change it.
 */
import { stringMember } from "@kcp-ts/sdk";
import type { SyncTarget } from "../api/index.ts";
import { checkKubeconfig, isProblem } from "./check-kubeconfig.ts";
import { type Problem, problem } from "./problem.ts";

export const registeredServerAnnotation = "workload.kcp.io/registered-server";

/**
 * The address in a kubeconfig, with its proxy if there is one; undefined for an invalid kubeconfig.
 */
export function serverIn(text: string): string | undefined {
  const kubeconfig = checkKubeconfig(text);
  if (isProblem(kubeconfig)) return undefined;
  const { contexts, clusters, currentContext = "" } = kubeconfig;
  const cluster = clusters.get(contexts.get(currentContext)?.cluster ?? "");
  const { server, proxyUrl } = cluster ?? {};
  return proxyUrl === undefined ? server : `${server} via ${proxyUrl}`;
}

/**
 * The text, or the problem with its address. An invalid kubeconfig is reported when the client
 * connects.
 */
export function checkRegisteredServer({ metadata }: SyncTarget, text: string): string | Problem {
  const server = serverIn(text);
  const registered = stringMember(metadata.annotations, registeredServerAnnotation);
  if (server === undefined || server === registered) return text;
  const before = registered === undefined ? "no server was registered" : `${registered} was`;
  return problem(
    "ServerNotRegistered",
    `the kubeconfig in the Secret names the server ${server}, and ${before}: a user that can register clusters confirms the change by the annotation ${registeredServerAnnotation}: ${server}`,
  );
}
