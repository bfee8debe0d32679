/** The common functions of rollouts of kinds with a Pod template in `spec.template`. */
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { KindRollout } from "./kind-rollout.ts";

export const templateAccessors: Pick<
  KindRollout,
  "template" | "withTemplate" | "isOutdated" | "withCurrentTemplate"
> = {
  template: ({ template = null }: { template?: JsonValue }) => template,
  withTemplate: (spec, template) => ({ ...spec, template }),
  isOutdated: (wanted, current) => !jsonEqual(templateOf(wanted), templateOf(current)),
  withCurrentTemplate: (wanted, current) => ({ ...wanted, template: templateOf(current) }),
};

export function templateOf({ template = null }: { template?: JsonValue }): JsonValue {
  return template;
}

/** The object in that field; an empty object if it is missing. */
export function memberOf(object: JsonObject, field: string): Record<string, JsonValue | undefined> {
  const found = (object as Record<string, JsonValue | undefined>)[field];
  return found !== undefined && isJsonObject(found) ? { ...found } : {};
}

/** The spec with the rolling update limits of `current`, if both have the same update strategy. */
export function withLimitsFrom(field: string, spec: JsonObject, current: JsonObject): JsonObject {
  const [wanted, known] = [memberOf(spec, field), memberOf(current, field)];
  const { rollingUpdate, type } = known;
  const isOther =
    (wanted["type"] ?? rollingUpdateType) !== rollingUpdateType ||
    (type ?? rollingUpdateType) !== rollingUpdateType;
  if (isOther || rollingUpdate === undefined) return spec;
  return { ...spec, [field]: { ...wanted, type: rollingUpdateType, rollingUpdate } as JsonObject };
}

export const rollingUpdateType = "RollingUpdate";
