/** The reference by which an object has a controlling owner, and is removed with it. */
import type { KubernetesObject, OwnerReference } from "../client/index.ts";

/** `metadata: { name, namespace, ownerReferences: [controlledBy(website)] }`. */
export function controlledBy({ apiVersion, kind, metadata }: KubernetesObject): OwnerReference {
  const { name, uid } = metadata;
  if (uid === undefined)
    throw new Error(`${kind} ${name} was not read from a server: it has no uid`);
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}
