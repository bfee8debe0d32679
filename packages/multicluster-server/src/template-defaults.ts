/**
 * ClusterDaemonSets have the defaults of the Deployments that they make: a per-cluster object with
 * defaults equals the template that it is made from.
 */
import type { ResourceDefinition } from "@kcp-ts/apiserver";
import { type Draft, mutableMember, nativeKinds } from "@kcp-ts/apiserver/kinds";
import { assert } from "@kcp-ts/machinery/base";
import { isJsonObject } from "@kcp-ts/machinery/json";
import { clusterDaemonSets } from "@kcp-ts/multicluster";

const deployments = nativeKinds.find(({ kind }) => kind === "Deployment");

export function withTemplateDefaults(definition: ResourceDefinition): ResourceDefinition {
  const { group, resource, strategy } = definition;
  if (group !== clusterDaemonSets.group || resource !== clusterDaemonSets.resource)
    return definition;
  const { decode } = strategy;
  assert(decode !== undefined, "a system kind is decoded by its schema");
  return {
    ...definition,
    strategy: {
      ...strategy,
      decode(value) {
        const decoded = decode(value);
        setDeploymentDefaults(decoded.value as Draft);
        return decoded;
      },
    },
  };
}

function setDeploymentDefaults(draft: Draft): void {
  const { spec } = draft;
  if (spec === undefined || !isJsonObject(spec) || !isJsonObject(spec["template"] ?? null)) return;
  const template = mutableMember(mutableMember(draft, "spec"), "template");
  if (isJsonObject(template["spec"] ?? null)) deployments?.setDefaults?.(template);
}
