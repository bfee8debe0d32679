/**
 * Where a kubeconfig in a Secret may lead. Whoever may change the Secret renews credentials; where the server connects to was said by who registered the cluster, and stands
 * on the SyncTarget, where admission lets nobody else change it.
 */
import { stringMember } from "@kcp-ts/sdk";
import type { SyncTarget } from "../api/index.ts";
import { checkKubeconfig, isProblem } from "./check-kubeconfig.ts";
import { type Problem, problem } from "./verdict.ts";

export const registeredServerAnnotation = "workload.kcp.io/registered-server";

/** The address in a kubeconfig, with the proxy on the way if there is one; undefined when it cannot be used at all. */
export function serverIn(text: string): string | undefined {
  const kubeconfig = checkKubeconfig(text);
  if (isProblem(kubeconfig)) return undefined;
  const { contexts, clusters, currentContext = "" } = kubeconfig;
  const cluster = clusters.get(contexts.get(currentContext)?.cluster ?? "");
  const { server, proxyUrl } = cluster ?? {};
  return proxyUrl === undefined ? server : `${server} via ${proxyUrl}`;
}

/** The text, or why it is not followed. What cannot be used is said by whoever connects. */
export function checkRegisteredServer({ metadata }: SyncTarget, text: string): string | Problem {
  const server = serverIn(text);
  const registered = stringMember(metadata.annotations, registeredServerAnnotation);
  if (server === undefined || server === registered) return text;
  const before = registered === undefined ? "no server was registered" : `${registered} was`;
  return problem(
    "ServerNotRegistered",
    `the kubeconfig in the Secret leads to ${server}, and ${before}: whoever may register clusters confirms it by the annotation ${registeredServerAnnotation}: ${server}`,
  );
}
