/**
 * The ConfigMap `kube-root-ca.crt` of every namespace: the CA certificate by which clients in the
 * namespace verify this server.
 */
import type { ObjectInput } from "@kcp-ts/sdk";
import type { ConfigMap } from "../api/index.ts";

export const rootCaName = "kube-root-ca.crt";
const caKey = "ca.crt";
const descriptionAnnotation = "kubernetes.io/description";
const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

export function rootCaConfigMap(namespace: string, caPem: string): ObjectInput<ConfigMap> {
  return {
    metadata: {
      name: rootCaName,
      namespace,
      annotations: { [descriptionAnnotation]: description },
    },
    data: { [caKey]: caPem },
  };
}

/** Exactly the certificate, and no other data that a client could mistake for one. */
export function isRootCa({ data, binaryData }: ConfigMap, caPem: string): boolean {
  const entries = Object.entries(data ?? {});
  const isOnly = entries.length === 1 && Object.keys(binaryData ?? {}).length === 0;
  return isOnly && entries[0]?.[0] === caKey && entries[0][1] === caPem;
}

/** The same object with the correct data; labels and annotations of other clients are kept. */
export function withRootCa(current: ConfigMap, caPem: string): ConfigMap {
  const { binaryData: _, ...rest } = current;
  const annotations = { ...current.metadata.annotations, [descriptionAnnotation]: description };
  return { ...rest, metadata: { ...current.metadata, annotations }, data: { [caKey]: caPem } };
}
