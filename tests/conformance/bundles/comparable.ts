/** What of an answer does not depend on the clusters behind a server. */

import { type CorpusResponse, without } from "../side-by-side/index.ts";
import type { BundleObject } from "./bundle.ts";

/** Set by a cluster's addresses, by controllers, or by times. */
const unseen: Readonly<Record<string, readonly string[]>> = {
  CustomResourceDefinition: ["status"],
  Job: ["metadata.labels", "spec.selector", "spec.template.metadata"],
  Namespace: ["status", "spec"],
  PersistentVolumeClaim: ["metadata.finalizers"],
  Service: ["spec.clusterIP", "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy"],
};

/** Kinds of a cluster's own API server, which a logical cluster has none of. */
export const unserved: ReadonlySet<string> = new Set([
  // Another server behind the same address: a tenant shares it as an APIExport, or mounts it.
  "APIService",
]);

export function comparable({ kind }: BundleObject, answer: CorpusResponse): CorpusResponse {
  const addressless = (body: unknown) => (kind === "Service" ? withoutNodePorts(body) : body);
  const view = without(
    "metadata.managedFields",
    "metadata.uid",
    "metadata.annotations.kcp.io/cluster",
    "details.causes",
    ...(unseen[kind] ?? []),
  );
  return { ...answer, body: addressless(view(answer.body)) };
}

function withoutNodePorts(body: unknown): unknown {
  return JSON.parse(
    JSON.stringify(body, (key, value) =>
      key === "nodePort" || key === "healthCheckNodePort" ? undefined : value,
    ),
  );
}
