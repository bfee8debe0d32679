/**
 * Kinds whose bodies are secrets, or hold some: they are not repeated where others read. What tenants define themselves cannot be known.
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
