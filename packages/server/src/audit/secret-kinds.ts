/** Kinds whose bodies are secrets, or hold some. What tenants define themselves cannot be known. */
import type { RequestScope } from "../request/request-scope.ts";

/** As `resource.group` or `resource/subresource.group`. */
const secretKinds: ReadonlySet<string> = new Set([
  "secrets.",
  "serviceaccounts/token.",
  "tokenreviews.authentication.k8s.io",
  "synctargets.workload.kcp.io",
]);

export function holdsSecrets(scope: RequestScope | undefined): boolean {
  if (scope?.kind !== "resource") return false;
  const { group, resource, subresource } = scope;
  const name = subresource === "" ? resource : `${resource}/${subresource}`;
  return secretKinds.has(`${name}.${group}`);
}
