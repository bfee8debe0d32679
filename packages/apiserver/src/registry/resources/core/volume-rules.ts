/** Validation of a Pod's volumes, in the words of Kubernetes. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { required, requiredLabel } from "../rules.ts";
import { itemErrors, objectIn, textIn } from "../standard.ts";

/** The members without which a volume of that type means nothing. */
const requiredMembers: ReadonlyMap<string, string> = new Map([
  ["hostPath", "path"],
  ["secret", "secretName"],
  ["configMap", "name"],
  ["persistentVolumeClaim", "claimName"],
  ["csi", "driver"],
]);

/** The errors, and the names that containers may mount. */
export function volumeErrors(
  volumes: JsonValue | undefined,
  field: string,
): { readonly names: ReadonlySet<string>; readonly errors: FieldError[] } {
  const names = new Set<string>();
  const errors = itemErrors<JsonObject>(volumes, field, (volume, at) => {
    const name = textIn(volume, "name");
    const found = [...sourceErrors(volume, at), ...requiredLabel(volume, "name", at)];
    if (names.has(name)) found.push(fieldError.duplicate(`${at}.name`, name));
    if (found.length === 0) names.add(name);
    return found;
  });
  return { names, errors };
}

function sourceErrors(volume: JsonObject, at: string): FieldError[] {
  const [first, ...others] = Object.keys(volume).filter((member) => member !== "name");
  if (first === undefined) return [fieldError.required(at, "must specify a volume type")];
  const member = requiredMembers.get(first);
  return [
    ...(member === undefined ? [] : required(objectIn(volume, first), member, `${at}.${first}`)),
    ...others.map((other) =>
      fieldError.forbidden(`${at}.${other}`, "may not specify more than 1 volume type"),
    ),
  ];
}
