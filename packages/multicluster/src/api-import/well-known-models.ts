/**
 * Models whose JSON differs from their description, or is more specific. Matched by the end of
 * their names.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";

const anything: JsonObject = { "x-kubernetes-preserve-unknown-fields": true };
const anyObject: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const intOrString: JsonObject = {
  anyOf: [{ type: "integer" }, { type: "string" }],
  "x-kubernetes-int-or-string": true,
};

const byName = new Map<string, JsonObject>(
  Object.entries({
    // The metadata of Pod templates must not be pruned.
    "meta.v1.ObjectMeta": anyObject,
    "meta.v1.Time": { type: "string", format: "date-time" },
    "meta.v1.MicroTime": { type: "string", format: "date-time" },
    "meta.v1.Duration": { type: "string" },
    "meta.v1.FieldsV1": anyObject,
    "pkg.runtime.RawExtension": anyObject,
    "pkg.util.intstr.IntOrString": intOrString,
    "pkg.api.resource.Quantity": {
      ...intOrString,
      pattern:
        "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
    },
    "apiextensions.v1.JSON": anything,
  }),
);

export function wellKnownModel(name: string): JsonObject | undefined {
  const end = name.split(".").slice(-3).join(".");
  const shorter = name.split(".").slice(-4).join(".");
  return byName.get(end) ?? byName.get(shorter);
}

/** Defaults that servers apply in code and that OpenAPI omits, by model and field. */
const builtInDefaults = new Map<string, JsonValue>([
  ["core.v1.ContainerPort.protocol", "TCP"],
  ["core.v1.ServicePort.protocol", "TCP"],
  // `kubectl rollout status` needs the strategy.
  ["apps.v1.StatefulSetSpec.updateStrategy", { type: "RollingUpdate" }],
  ["apps.v1.DaemonSetSpec.updateStrategy", { type: "RollingUpdate" }],
]);

export function builtInDefault(model: string, field: string): JsonValue | undefined {
  return builtInDefaults.get(`${model.split(".").slice(-3).join(".")}.${field}`);
}
