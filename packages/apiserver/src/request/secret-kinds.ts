/**
 * Kinds whose bodies are or contain secrets: logs and audit events omit them. CRDs of tenants are
 * unknown here.
 */

/** As `resource.group` or `resource/subresource.group`. */
const secretKinds: ReadonlySet<string> = new Set([
  "secrets.",
  "serviceaccounts/token.",
  "tokenreviews.authentication.k8s.io",
  "synctargets.workload.kcp.io",
]);

export function containsSecrets(kind: {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
}): boolean {
  const { group, resource, subresource = "" } = kind;
  const name = subresource === "" ? resource : `${resource}/${subresource}`;
  return secretKinds.has(`${name}.${group}`);
}
