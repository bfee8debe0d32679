/**
 * For the test of applications: the resource of a manifest, by the rules that all its kinds keep
 * to.
 */
import type { Manifest } from "@kcp-ts/controlplane";
import { defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";

const clusterScoped = new Set(["CustomResourceDefinition"]);

export function resourceOf<Object extends KubernetesObject>({
  apiVersion,
  kind,
}: Manifest): Resource<Object> {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return defineResource<Object>({
    group: group ?? "",
    version: version ?? "",
    resource: kind.endsWith("s") ? `${kind.toLowerCase()}es` : `${kind.toLowerCase()}s`,
    kind,
    namespaced: !clusterScoped.has(kind),
  });
}
