/** Rules of values that come from the fields of a Pod or container, in the words of Kubernetes. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { qualifiedNameErrors } from "@kcp-ts/machinery/names";
import { quantityNanos } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { required } from "../rules.ts";
import { textIn } from "../standard.ts";

const shared = ["metadata.name", "metadata.namespace", "metadata.uid"];
const annotated = ["metadata.annotations", "metadata.labels"];
/** What the environment of a container can have. */
export const environmentFields: readonly string[] = [
  ...shared,
  ...["spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs"],
  ...["status.podIP", "status.podIPs"],
];
/** What the files of a volume can have. */
export const fileFields: readonly string[] = [...annotated, ...shared].sort();
const known = new Set([
  ...[...environmentFields, ...annotated],
  ...["metadata.generateName", "spec.restartPolicy", "spec.schedulerName", "status.phase"],
]);

export function fieldRefErrors(
  reference: JsonObject,
  at: string,
  fields: readonly string[],
): FieldError[] {
  for (const member of ["apiVersion", "fieldPath"]) {
    const missing = required(reference, member, at);
    if (missing.length > 0) return missing;
  }
  const path = textIn(reference, "fieldPath");
  const [, name = "", key] = /^(.*?)(?:\['(.*)'\])?$/s.exec(path) ?? [];
  const version = textIn(reference, "apiVersion");
  const problem =
    version !== "v1"
      ? `unsupported pod version: ${version}`
      : key !== undefined && annotated.includes(name)
        ? undefined
        : known.has(path)
          ? undefined
          : `field label not supported: ${path}`;
  if (problem !== undefined)
    return [fieldError.invalid(`${at}.fieldPath`, path, `error converting fieldPath: ${problem}`)];
  if (key !== undefined) {
    const subscript = name === "metadata.annotations" ? key.toLowerCase() : key;
    return qualifiedNameErrors(subscript).map((text) => fieldError.invalid(at, subscript, text));
  }
  return fields.includes(path) ? [] : [fieldError.notSupported(`${at}.fieldPath`, path, fields)];
}

const resources = [
  ...["limits.cpu", "limits.ephemeral-storage", "limits.memory"],
  ...["requests.cpu", "requests.ephemeral-storage", "requests.memory"],
];
const divisors: Readonly<Record<string, string>> = {
  cpu: "cpu",
  memory: "memory",
  "ephemeral-storage": "local ephemeral storage",
};
const byteUnits = ["1", "1k", "1M", "1G", "1T", "1P", "1E"].concat([
  "1Ki",
  "1Mi",
  "1Gi",
  "1Ti",
  "1Pi",
  "1Ei",
]);

export function resourceRefErrors(
  reference: JsonObject,
  at: string,
  needsContainer: boolean,
): FieldError[] {
  const resource = textIn(reference, "resource");
  const isHuge = /^(limits|requests)\.hugepages-/.test(resource);
  const missing = needsContainer ? required(reference, "containerName", at) : [];
  const errors = missing.length > 0 ? missing : required(reference, "resource", at);
  if (errors.length === 0 && !isHuge && !resources.includes(resource))
    errors.push(fieldError.notSupported(`${at}.resource`, resource, resources));
  const name = resource.replace(/^(limits|requests)\./, "");
  const title = isHuge ? "hugepages" : divisors[name];
  const divisor = textIn(reference, "divisor");
  const units = name === "cpu" ? ["1m", "1"] : byteUnits;
  const isUnset = divisor === "" || quantityNanos(divisor)?.nanos === 0n;
  if (title === undefined || isUnset || units.includes(divisor)) return errors;
  const allowed = name === "cpu" ? "1m and 1" : byteUnits.join(", ");
  const detail = `only divisor's values ${allowed} are supported with the ${title} resource`;
  return [...errors, fieldError.invalid(`${at}.divisor`, resource, detail)];
}
