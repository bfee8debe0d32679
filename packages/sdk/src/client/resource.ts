/**
 * A resource: the path of objects of one type, and their type.
 *
 * The type parameter exists only for the compiler, so that a client of a resource knows the type of
 * its objects.
 */
import { formatGroupResource, StatusError } from "@kcp-ts/machinery/status";
import type { KubernetesObject } from "./object.ts";

export interface Resource<Object extends KubernetesObject = KubernetesObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** The plural, as it appears in paths. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly __object?: Object;
}

export function defineResource<Object extends KubernetesObject>(
  resource: Omit<Resource, "__object">,
): Resource<Object> {
  return resource;
}

export function apiVersionOf({ group, version }: Pick<Resource, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}

/** `deployments.v1.apps`, unique among all resources: for keys of maps, logs and metrics. */
export function formatResource({ group, version, resource }: Resource): string {
  return formatGroupResource({ group: group === "" ? version : `${version}.${group}`, resource });
}

export interface ResourcePath {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

export function resourcePath(resource: Resource, path: ResourcePath): string {
  const { group, version } = resource;
  const { namespace, name, subresource } = path;
  let text = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  if (resource.namespaced && namespace !== undefined && namespace !== "") {
    text += `/namespaces/${segment("namespace", namespace)}`;
  }
  text += `/${resource.resource}`;
  if (name !== undefined) text += `/${segment("name", name)}`;
  if (subresource !== undefined) text += `/${subresource}`;
  return text;
}

const plainSegment = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;

/**
 * Kubernetes' own rule for names in paths; without it a name could address a resource that the
 * caller did not mean.
 */
function segment(what: string, text: string): string {
  if (plainSegment.test(text)) return text;
  if (text === "" || text === "." || text === ".." || text.includes("/") || text.includes("%")) {
    throw new StatusError({
      code: 400,
      reason: "BadRequest",
      message: `invalid ${what} ${JSON.stringify(text)}: may not be empty, '.', '..' or contain '/' or '%'`,
    });
  }
  return encodeURIComponent(text);
}
